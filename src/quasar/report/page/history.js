// The objective trial by trial, with the best so far.
'use strict';
const logarithmic = (values) => values.length > 2 && values.every((x) => x > 0) && Math.max(...values) > 40 * Math.min(...values);

function trialTip(trial, extra) {
  const name = objectiveOf(search).name;
  const lines = [`<b>trial ${trial.number}</b> · ${escaped(trial.state)}`];
  if (isNumber(at(trial.values, 0))) lines.push(`${escaped(name)} ${escaped(score(name, trial.values[0]))}`);
  if (extra) lines.push(extra);
  if (!keepsConstraints(trial)) lines.push('breaks a constraint');
  for (const [key, value] of Object.entries(trial.params).slice(0, 14)) lines.push(`<span style="opacity:.7">${escaped(pretty(key))}</span> ${escaped(words(value).slice(0, 60))}`);
  if (typeof trial.pruned === 'string') lines.push(escaped('given up ' + trial.pruned));
  if (trial.error) lines.push(`<span style="opacity:.8">${escaped(trial.error.slice(0, 120))}</span>`);
  return `<div style="white-space:normal;max-width:26rem">${lines.join('<br>')}</div>`;
}

function bestSoFar(contents, which = 0) {
  const objective = contents.objectives[which] || objectiveOf(contents), line = [];
  let best;
  for (const trial of contents.trials) {
    const value = at(trial.values, which);
    if (trial.state === 'complete' && keepsConstraints(trial) && isNumber(value) && (best === undefined || better(objective, value, best))) line.push([trial.number, (best = value)]);
  }
  const last = contents.trials.at(-1);
  if (last && line.length) line.push([last.number, best]);
  return line;
}

function historyOption(contents, which) {
  const kind = (trial) => (trial.state === 'complete' && !keepsConstraints(trial) ? 'breaks a constraint' : trial.state);
  const of = (state) => contents.trials.filter((trial) => kind(trial) === state && isNumber(at(trial.values, which) ?? trial.last));
  const valued = contents.trials.map((trial) => at(trial.values, which) ?? trial.last).filter(isNumber);
  const log = logarithmic(valued), objective = contents.objectives[which] || objectiveOf(contents);
  const floor = valued.length ? (maximized(objective) ? Math.min(...valued) : Math.max(...valued)) : 0;
  const symbol = { complete: 'circle', 'breaks a constraint': 'diamond', duplicate: 'circle', pruned: 'triangle', failed: 'path://M2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5L0,2Z' };
  const failed = contents.trials.filter((trial) => trial.state === 'failed').map((trial) => ({ value: [trial.number, floor], trial }));
  const scatter = Object.keys(symbol).map((state) => ({
    name: state, type: 'scatter', symbol: symbol[state], symbolSize: state === 'failed' ? 9 : 8, itemStyle: { ...(state === 'duplicate' ? { color: 'transparent', borderColor: colour(states[state]), borderWidth: 1.5 } : { color: colour(states[state]) }), opacity: state === 'complete' ? 0.85 : 0.7 },
    data: state === 'failed' ? failed : of(state).map((trial) => ({ value: [trial.number, at(trial.values, which) ?? trial.last], trial })),
  })).filter((one) => one.data.length);
  const line = { name: 'best so far', type: 'line', step: 'end', symbol: 'none', lineStyle: { color: colour('good'), width: 2 }, itemStyle: { color: colour('good') }, data: bestSoFar(contents, which), z: 1 };
  const reference = at(contents.result, 'baseline', 'metrics', objective.name, 'value');
  if (isNumber(reference) && (!log || reference > 0) && reference !== 0) line.markLine = { silent: true, symbol: 'none', label: { formatter: 'float', color: colour('soft'), position: 'insideEndTop' }, lineStyle: { color: colour('soft'), type: 'dashed' }, data: [{ yAxis: reference }] };
  return {
    grid: { left: 12, right: 16, top: 34, bottom: 28, containLabel: true }, legend: {}, xAxis: { type: 'value', name: 'trial', nameLocation: 'middle', nameGap: 24, minInterval: 1, splitLine: { show: false }, max: (range) => Math.max(range.max, 1) },
    yAxis: { type: log ? 'log' : 'value', scale: true, name: objective.name + (maximized(objective) ? ' (higher is better)' : ' (lower is better)'), nameTextStyle: { align: 'left' }, axisLabel: { formatter: (x) => score(objective.name, x) } },
    tooltip: { formatter: (point) => (point.data.trial ? trialTip(point.data.trial) : '') }, series: [line, ...scatter],
  };
}

sections.push({ id: 'history', title: 'History', build: () => {
  if (!search.trials.length) return null;
  const click = (event) => event.data && event.data.trial && document.dispatchEvent(new CustomEvent('chosen', { detail: event.data.trial.number }));
  return [element('p', { class: 'note' }, 'Every trial in its order. A duplicate made the same model as an earlier trial and cost nothing' + (search.trials.every(keepsConstraints) ? '' : '; the line follows the trials that keep the constraints') + (data.view === 'history' ? '.' : '; a click shows the trial in the table.')),
    ...search.objectives.map((objective, i) => figure(search.objectives.length > 1 ? objective.name : 'Optimization history', 340, () => historyOption(search, i), click))];
} });
