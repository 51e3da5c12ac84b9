// At a glance: status, float against best, size, speed, what to do next.
'use strict';
const verdicts = {
  ok: ['good', 'finished'], running: ['soft', 'running'], goal_missed: ['warn', 'goal missed'],
  ended: ['soft', 'ended'], unknown: ['soft', 'end not known'], no_candidate: ['warn', 'no candidate'], strategy_failed: ['warn', 'strategy failed'], interrupted: ['warn', 'interrupted'],
};

function verdict(result) {
  const [tone, text] = result.quality === 'poor' ? ['warn', 'poor: of little use'] : verdicts[result.status] || ['soft', result.status || 'unknown'];
  return element('span', { class: 'pill ' + tone }, text);
}

const wordOf = (word) => (word ? element('span', { class: 'pill ' + (word === 'good' ? 'good' : word === 'check' ? 'soft' : 'warn') }, word) : '');

const bestTrial = (contents) => contents.trials.find((trial) => trial.number === at(contents.result, 'best', 'trial'));
const firstTrial = (contents) => contents.trials.find((trial) => trial.number === 0 && trial.state === 'complete');

// Change from a to b, as its reader thinks of it: "−49 %" for what should be small, points for shares.
function change(name, a, b) {
  if (!isNumber(a) || !isNumber(b)) return '';
  if (isShare(name)) return `${b >= a ? '+' : '−'}${Math.abs(100 * (b - a)).toFixed(2)} points`;
  return a === 0 ? '' : `${b >= a ? '+' : '−'}${number(Math.abs(100 * (b / a - 1)), 3)} %`;
}

function card(what, big, more, tone) {
  return element('div', { class: 'card' }, element('div', { class: 'what' }, what), element('div', { class: 'big ' + (tone || '') }, big), [].concat(more).filter((line) => line).map((line) => element('div', { class: 'more' }, line)));
}

function metricCards(contents) {
  const { baseline, best } = contents.result;
  return Object.keys(at(best, 'metrics') || {}).sort((a, b) => (objectiveOf(contents).name === b) - (objectiveOf(contents).name === a)).slice(0, 3).map((name) => {
    const mine = best.metrics[name], original = at(baseline, 'metrics', name);
    const shift = original && original.value !== 0 ? [`float ${score(name, original.value)}`, change(name, original.value, mine.value)] : interval(name, mine);
    return card(name, score(name, mine.value), shift);
  });
}

// `faster` is null where the model is for another processor: times here judge nothing then.
function latencyCard(contents, [before, after]) {
  const { result } = contents, ratio = at(result.best, 'time_of_float') || {}, all = ratio.on_all, gain = isNumber(ratio.value) ? 1 / ratio.value : before / after;
  const float = `float ${milliseconds(ratio.float_ms ?? before)}`;
  if (result.faster === null) return card('latency', milliseconds(after), [float, 'on this machine, which is not the target']);
  return card('latency', milliseconds(after), [float, gain >= 1 ? number(gain, 3) + '× faster' : number(1 / gain, 3) + '× slower',
    all ? `${number(all.value, 3)} × float on all ${all.threads} cores` : ''], gain < 0.95 || result.faster === false ? 'warn' : '');
}

function costCards(contents) {
  const { baseline, best } = contents.result, out = [];
  const size = [at(baseline, 'bytes'), at(best, 'bytes')], time = [at(baseline, 'latency_ms', 'median'), at(best, 'latency_ms', 'median')];
  if (isNumber(size[1])) out.push(card('size', bytes(size[1]), [`float ${bytes(size[0])}`, size[0] >= size[1] ? `${number(size[0] / size[1], 3)}× smaller` : `${number(size[1] / size[0], 3)}× larger`]));
  if (isNumber(time[1])) out.push(latencyCard(contents, time));
  const operators = at(best, 'operators'), broken = at(best, 'broken_rules');
  if (operators) out.push(card('operators left in float', String(operators.float), broken === undefined ? `${operators.quantized} ${operators.by === 'plan' ? 'in integers as planned' : `run in integer kernels of ${operators.by || 'ONNX Runtime'}`}`
    : `${operators.quantized} planned for the NPU, ${broken} of its rules broken`, operators.float || broken ? 'warn' : 'good'));
  return out;
}

// Why the best model is of little use.
function poor(contents) {
  const reasons = at(contents.result, 'best', 'answers', 'reasons') || [];
  return contents.result.quality === 'poor' ? element('ul', { class: 'warn' }, reasons.map((text) => element('li', {}, text))) : null;
}

function lead(contents) {
  const { result } = contents, counts = result.trials || {}, name = objectiveOf(contents).name, best = result.best;
  const of = element('p', { class: 'lead' });
  const value = at(best, 'metrics', name, 'value') ?? at(bestTrial(contents), 'values', 0);
  if (best) of.append('Best is ', element('strong', {}, `trial ${best.trial}`), ` with ${name} `, element('strong', {}, score(name, value)), best.feasible === false ? ', which breaks a constraint' : '', '. ');
  of.append(`${counts.executed ?? 0} trials were executed` + (counts.duplicate ? `, ${counts.duplicate} more were the same model as another` : '') +
    (counts.pruned ? `, ${counts.pruned} given up early` : '') + (counts.failed ? `, ${counts.failed} failed` : '') + (isNumber(result.seconds) ? `, in ${seconds(result.seconds)}.` : '.'));
  if (result.reason) of.append(` Ended because: ${result.reason}.`);
  return of;
}

function progress(contents) {
  const { done, total, left_s: left } = contents.progress || {};
  if (!contents.running || !isNumber(done)) return null;
  return element('div', {}, element('div', { class: 'progress', role: 'progressbar', 'aria-valuenow': done, 'aria-valuemax': total }, element('i', { style: `width:${total ? (100 * done) / total : 0}%` })),
    element('p', { class: 'note' }, total ? `${done} of ${total} trials` : `${done} trials`, isNumber(left) ? `, about ${seconds(left)} left` : ''));
}

sections.push({ id: 'summary', title: 'Summary', wide: true, build: () => [
  element('h1', {}, search.title || 'Search', ' ', verdict(search.result)), poor(search), lead(search), progress(search),
  element('div', { class: 'cards' }, metricCards(search), costCards(search))] });

sections.push({ id: 'scores', title: 'Float against best', build: () => {
  const { baseline, best } = search.result, first = firstTrial(search);
  if (!best || !at(best, 'metrics')) return null;
  const rows = [];
  for (const name of Object.keys(best.metrics)) {
    rows.push({ name, float: at(baseline, 'metrics', name, 'value'), first: at(first, 'metrics', name), best: best.metrics[name] });
    if (at(best, 'holdout', name)) rows.push({ name: name + ' on hold-out samples', metric: name, float: at(baseline, 'holdout', name, 'value'), best: best.holdout[name] });
  }
  const show = (row, x) => score(row.metric || row.name, x);
  const judged = at(search.words, 'search_evaluator') ? 'Scores of metrics that search_evaluator gives are its own; every other one' : 'Every score';
  const sure = rows.some((row) => interval(row.metric || row.name, row.best)) ? ' The interval holds the true value with 95 % confidence.' : '';
  return [element('p', { class: 'note' }, `${judged} is ${at(search.result, 'judge', 'library') || 'ONNX Runtime'}'s.${sure}`, best.holdout ? ' Nobody saw the hold-out samples before the winner was chosen.' : ''),
    table([
      { title: 'metric', value: (row) => row.name }, { title: 'float', value: (row) => row.float, show: (row) => show(row, row.float) },
      { title: 'default', value: (row) => row.first, show: (row) => show(row, row.first), help: 'Trial 0: the scheme\'s default configuration' },
      { title: 'best', value: (row) => row.best.value, show: (row) => element('strong', {}, show(row, row.best.value)) },
      { title: 'in a word', value: (row) => row.best.word || '', show: (row) => wordOf(row.best.word) },
      { title: '95 % interval', value: (row) => row.best.high - row.best.low, show: (row) => interval(row.metric || row.name, row.best) || '–' },
      { title: 'samples', value: (row) => row.best.samples }], rows),
    (search.sureness || []).length ? element('ul', { class: 'note sure' }, search.sureness.map((text) => element('li', {}, text))) : null];
} });

sections.push({ id: 'models', title: 'The models of the pipeline', build: () => {
  const models = at(search.result, 'best', 'models') || [];
  if (!models.length) return null;
  const quantized = (one) => at(one, 'operators', 'quantized'), of = (one) => one.bytes / one.float_bytes;
  return [element('p', { class: 'note' }, 'Each is a file of its own; run one after the other they give what best.onnx gives, bit by bit.'),
    table([{ title: 'model', text: 'text', value: (one) => one.name }, { title: 'file', text: 'text', value: (one) => one.file },
      { title: 'size', value: (one) => one.bytes, show: (one) => bytes(one.bytes) }, { title: 'of float', value: of, show: (one) => `${number(100 * of(one), 3)} %` },
      { title: 'bits a weight', value: (one) => one.bits, show: (one) => number(one.bits, 3), help: 'Of the whole file, for each weight of the float model' },
      { title: 'operators in integers', value: quantized }, { title: 'in float', value: (one) => at(one, 'operators', 'float') }], models)];
} });

// Each part of the outputs, where they have several; how often the answers are float's.
sections.push({ id: 'answers', title: 'Outputs part by part', build: () => {
  const answers = at(search.result, 'best', 'answers'), parts = at(answers, 'parts') || [], same = at(answers, 'answers');
  const told = parts.length > 1 || parts.some((part) => part.word !== 'good'), spread = parts.some((part) => part.of_spread !== undefined);
  if (!told && !same) return null;
  const name = (part) => part.output + (part.slices === undefined ? '' : `: ${part.slices} of axis ${part.axis}`);
  return [same ? element('p', {}, `On ${number(100 * same.same, 3)} % of the ${same.sure} samples on which float is sure, the answer is float's (${same.metric}).`) : null,
    !told ? null : table([
      { title: 'part', value: name }, { title: 'size', value: (part) => part.size, show: (part) => number(part.size, 3) },
      { title: 'relative error', value: (part) => part.relative, show: (part) => number(part.relative, 3) },
      { title: 'cosine', value: (part) => part.cosine, show: (part) => number(part.cosine, 5) },
      ...(spread ? [{ title: 'error × spread', value: (part) => part.of_spread, show: (part) => number(part.of_spread, 3), help: 'Errors beside what the float model’s values vary between samples: from 1 on a constant would do as well' }] : []),
      { title: 'in a word', value: (part) => part.word, show: (part) => wordOf(part.constant ? 'constant' : part.word) }], parts)];
} });

sections.push({ id: 'next', title: 'What to do next', build: () => {
  if (!search.advice.length) return null;
  const isWarning = (text) => text.startsWith('Warning: '), list = (tag, texts) => element(tag, { class: 'steps' }, texts.map((text) => element('li', {}, withCode(text))));
  const steps = search.advice.filter((text) => !isWarning(text)), warnings = search.advice.filter(isWarning).map((text) => text.slice(9)).map((text) => (/^\w*[_.]\w/.test(text) ? text : text[0].toUpperCase() + text.slice(1)));
  return [steps.length ? list('ol', steps) : null, ...(warnings.length ? [element('h3', {}, warnings.length > 1 ? `${warnings.length} warnings` : 'A warning'), list('ul', warnings)] : [])].filter((part) => part);
} });
