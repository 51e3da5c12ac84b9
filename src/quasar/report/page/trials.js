// All trials, sortable; what one sees of a trial is what one needs to repeat it.
'use strict';
// The parameters in which trials differ, the most important first; the others are told in a sentence.
const valuesOf = (parameter) => new Set(search.trials.map((trial) => JSON.stringify(trial.params[parameter.name])));
const mostOnPaper = 6;
function varying() {
  const rank = new Map(search.importance.map((item, i) => [item.name, i]));
  return search.parameters.filter((parameter) => valuesOf(parameter).size > 1).sort((a, b) => (rank.get(a.name) ?? 99) - (rank.get(b.name) ?? 99));
}
function sameInAll() {
  const same = search.parameters.filter((parameter) => valuesOf(parameter).size === 1), first = search.trials[0].params;
  return same.length && search.trials.length > 1 ? element('p', { class: 'note' }, 'The same in every trial: ', same.map((parameter) => `${pretty(parameter.name)} ${short(words(first[parameter.name]), 42)}`).join(', '), '.') : null;
}

function trialColumns() {
  const best = bestTrial(search), columns = [
    { title: 'trial', value: (trial) => trial.number },
    { title: 'state', text: 'text keep', value: (trial) => trial.state, show: (trial) => element('span', { class: { failed: 'bad', pruned: 'warn', duplicate: 'soft' }[trial.state] || '', title: trial.error }, trial.state + (trial.candidate ? ' ✓' : '') + ('duplicate_of' in trial ? ` of ${trial.duplicate_of}` : '')) }];
  search.objectives.forEach((objective, i) => {
    columns.push({ title: objective.name, value: (trial) => at(trial.values, i) ?? (i ? undefined : trial.last), show: (trial) => score(objective.name, at(trial.values, i) ?? (i ? undefined : trial.last)) });
    const reference = at(best, 'values', i), difference = (trial) => (isNumber(at(trial.values, i)) && isNumber(reference) ? trial.values[i] - reference : undefined);
    if (isNumber(reference)) columns.push({ title: 'Δ to best', value: difference, show: (trial) => (isNumber(difference(trial)) ? (difference(trial) > 0 ? '+' : '') + score(objective.name, difference(trial)) : '–') });
  });
  const names = new Set(search.trials.flatMap((trial) => Object.keys(trial.metrics || {})));
  search.objectives.forEach((objective) => names.delete(objective.name));
  for (const name of names) columns.push({ title: name, value: (trial) => at(trial.metrics, name), show: (trial) => score(name, at(trial.metrics, name)) });
  if (search.trials.some((trial) => isNumber(trial.bytes)) && !names.has('bytes') && !search.objectives.some((objective) => objective.name === 'bytes')) columns.push({ title: 'weights', help: 'Size of the model\'s weights', value: (trial) => trial.bytes, show: (trial) => bytes(trial.bytes) });
  if (!search.trials.every(keepsConstraints)) columns.push({ title: 'misses', help: 'By what share of their bounds constraints are exceeded, all together', value: (trial) => trial.violation ?? 0, show: (trial) => (keepsConstraints(trial) ? '–' : element('span', { class: 'warn' }, percent(trial.violation))) });
  columns.push({ title: 'time', value: (trial) => trial.seconds, show: (trial) => seconds(trial.seconds) });
  if (new Set(search.trials.map((trial) => trial.stage)).size > 1) columns.push({ title: 'stage', text: 'text', value: (trial) => trial.stage });
  varying().forEach((parameter, i) => columns.push({ title: pretty(parameter.name).replace(' ·', '\u00a0·'), text: i < mostOnPaper ? 'text' : 'text screen', value: (trial) => { const value = trial.params[parameter.name]; return value === undefined || isNumber(value) ? value : words(value); }, show: (trial) => (parameter.name in trial.params ? (isNumber(trial.params[parameter.name]) ? number(trial.params[parameter.name]) : short(words(trial.params[parameter.name]), 42)) : '–') }));
  return columns;
}

sections.push({ id: 'trials', title: 'Trials', build: () => {
  if (!search.trials.length) return null;
  const best = at(search.result, 'best', 'trial');
  const list = table(trialColumns(), search.trials, { tall: search.trials.length > 20, sort: { column: 2, down: maximized(objectiveOf(search)) }, decorate: (row, trial) => {
    row.dataset.trial = trial.number;
    if (trial.number === best) row.className = 'best';
    else if (trial.state !== 'complete') row.className = 'dim';
  } });
  const hide = element('input', { type: 'checkbox', id: 'hide' }), find = element('input', { type: 'search', placeholder: 'find in parameters', 'aria-label': 'Find in parameters' });
  const text = new Map(search.trials.map((trial) => [trial, JSON.stringify([trial.state, trial.params, trial.error]).toLowerCase()]));
  const apply = () => list.fill(search.trials.filter((trial) => !(hide.checked && trial.state === 'duplicate') && text.get(trial).includes(find.value.toLowerCase())));
  hide.addEventListener('change', apply);
  find.addEventListener('input', apply);
  document.addEventListener('chosen', (event) => {
    find.value = '';
    hide.checked = false;
    list.showAll();
    apply();
    list.querySelectorAll('.chosen').forEach((row) => row.classList.remove('chosen'));
    const row = list.querySelector(`[data-trial="${event.detail}"]`);
    if (row) { row.classList.add('chosen'); row.scrollIntoView({ block: 'center' }); }
  });
  addEventListener('beforeprint', () => list.showAll());
  return [element('p', { class: 'note' }, 'A click on a heading sorts; Δ is the difference to the best trial. Any trial\'s model is made again by ', element('code', {}, 'quasar quantize MODEL --from-study DIR --trial N --calib DATA -o OUT.onnx'), '.'),
    element('div', { class: 'tools' }, find, element('label', { for: 'hide' }, hide, ' without duplicates')), list, sameInAll(),
    varying().length > mostOnPaper ? element('p', { class: 'note paper' }, `On paper stand the ${mostOnPaper} parameters that mattered most; all of them: `, element('code', {}, 'quasar report DIR --format csv'), '.') : null];
} });
