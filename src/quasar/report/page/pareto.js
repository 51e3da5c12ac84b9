// Accuracy against cost: what nothing else beats in both.
'use strict';
function costsOf(contents) {
  const measured = contents.trials.some((trial) => isNumber(at(trial.metrics, 'bytes')));  // else known of the weights only
  const costs = [{ name: measured ? 'size' : 'size of the weights', unit: bytes, of: (trial) => (measured ? at(trial.metrics, 'bytes') : trial.bytes), float: at(contents.result, 'baseline', 'bytes') },
    { name: 'latency', unit: milliseconds, of: (trial) => at(trial.metrics, 'latency') ?? at(trial, 'latency_ms', 'median') ?? trial.latency_ms, float: at(contents.result, 'baseline', 'latency_ms', 'median') }];
  contents.objectives.slice(1).forEach((objective, i) => {
    if (costs.some((cost) => cost.name === objective.name || (cost.unit === bytes && objective.name === 'bytes'))) return;
    costs.push({ name: objective.name, unit: (x) => score(objective.name, x), of: (trial) => at(trial.values, i + 1), maximize: maximized(objective) });
  });
  // Less than one per cent apart is the same to a reader.
  return costs.filter((cost) => {
    const known = contents.trials.map(cost.of).filter(isNumber);
    return known.length > 1 && Math.max(...known) - Math.min(...known) > 0.01 * Math.max(...known.map(Math.abs));
  });
}

// The trials that no other one beats in value and cost; by rising cost.
function front(points, objective, cost) {
  const sorted = [...points].sort((a, b) => (cost.maximize ? b.cost - a.cost : a.cost - b.cost) || (better(objective, a.value, b.value) ? -1 : 1)), out = [];
  for (const point of sorted) if (!out.length || better(objective, point.value, out.at(-1).value)) out.push(point);
  return out;
}

function paretoOption(cost) {
  const objective = objectiveOf(search);
  const points = search.trials.filter((trial) => trial.state === 'complete' && isNumber(at(trial.values, 0)) && isNumber(cost.of(trial))).map((trial) => ({ trial, value: trial.values[0], cost: cost.of(trial) }));
  const best = front(points, objective, cost), log = logarithmic(points.map((point) => point.value));
  const as = (point) => ({ value: [point.cost, point.value], trial: point.trial, cost: point.cost });
  return {
    grid: { left: 12, right: 24, top: 34, bottom: 30, containLabel: true }, legend: {},
    xAxis: { type: 'value', scale: true, name: cost.name, nameLocation: 'middle', nameGap: 26, axisLabel: { formatter: cost.unit, hideOverlap: true } },
    yAxis: { type: log ? 'log' : 'value', scale: true, name: objective.name, nameTextStyle: { align: 'left' }, axisLabel: { formatter: (x) => score(objective.name, x) } },
    tooltip: { formatter: (point) => (point.data.trial ? trialTip(point.data.trial, `${escaped(cost.name)} ${escaped(cost.unit(point.data.cost))}`) : '') },
    series: [{ name: 'trials', type: 'scatter', symbolSize: 8, itemStyle: { color: colour('accent'), opacity: 0.6 }, data: points.map(as) },
      { name: 'front', type: 'line', step: 'end', symbol: 'circle', symbolSize: 10, itemStyle: { color: colour('good') }, lineStyle: { color: colour('good'), width: 2 }, data: best.map(as) }],
  };
}

// What a wider budget would bring, by the estimates of strategy budget.
function moreOfBudget(contents) {
  const units = { bytes, latency: milliseconds }, off = (one) => (one.takes_off === 'loss' ? `the loss (${objectiveOf(contents).name})` : one.takes_off);
  const amount = (one) => (units[one.more_of] ? units[one.more_of](one.by) : number(one.by, 3));
  return (at(contents.result, 'tuning', 'budget', 'more') ?? []).map((one) => `${amount(one)} more of ${one.more_of} (${one.step}) would take an estimated ${number(100 * one.share, 2)} % off ${off(one)}.`);
}

sections.push({ id: 'pareto', title: 'Accuracy against cost', build: () => {
  const costs = costsOf(search), more = moreOfBudget(search);
  if (!costs.length && !more.length) return null;
  return [element('p', { class: 'note' }, 'On the green line lie the trials that no other one beats in both.'),
    more.length ? element('ul', { class: 'note', id: 'more-of-budget' }, more.map((one) => element('li', {}, one))) : null,
    element('div', { class: costs.length > 1 ? 'pair' : '' }, costs.map((cost) => figure(`${objectiveOf(search).name} against ${cost.name}`, 320, () => paretoOption(cost))))];
} });
