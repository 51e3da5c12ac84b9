// Accuracy against cost: what nothing else beats in both.
'use strict';
// What is set against costs: the first objective that is none, else a metric that trials have.
function gainOf(contents) {
  const place = contents.objectives.findIndex((objective) => !isCost(objective.name));
  if (place >= 0 || !contents.objectives.length) return { ...(contents.objectives[place] || objectiveOf(contents)), of: (trial) => at(trial.values, Math.max(place, 0)) };
  const name = Object.keys(contents.metrics).find((one) => !isCost(one) && contents.trials.some((trial) => isNumber(at(trial.metrics, one))));
  return name && { name, direction: contents.metrics[name].direction, of: (trial) => at(trial.metrics, name) };
}

function costsOf(contents) {
  const gain = gainOf(contents);
  if (!gain) return [];
  const measured = contents.trials.some((trial) => isNumber(at(trial.metrics, 'bytes')));  // else known of the weights only
  const costs = [{ name: measured ? 'size' : 'size of the weights', unit: bytes, of: (trial) => (measured ? at(trial.metrics, 'bytes') : trial.bytes) },
    { name: 'latency', unit: milliseconds, of: (trial) => at(trial.metrics, 'latency') ?? at(trial, 'latency_ms', 'median') ?? trial.latency_ms }];
  contents.objectives.forEach((objective, i) => {
    if (objective.name === gain.name || ['bytes', 'latency'].includes(objective.name)) return;
    costs.push({ name: objective.name, unit: (x) => score(objective.name, x), of: (trial) => at(trial.values, i), maximize: maximized(objective) });
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
  const objective = gainOf(search);
  const points = search.trials.filter((trial) => trial.state === 'complete' && isNumber(objective.of(trial)) && isNumber(cost.of(trial))).map((trial) => ({ trial, value: objective.of(trial), cost: cost.of(trial) }));
  const kept = points.filter((point) => keepsConstraints(point.trial)), broken = points.filter((point) => !keepsConstraints(point.trial));
  const best = front(kept, objective, cost), log = logarithmic(points.map((point) => point.value));
  const as = (point) => ({ value: [point.cost, point.value], trial: point.trial, cost: point.cost });
  return {
    grid: { left: 12, right: 24, top: 34, bottom: 30, containLabel: true }, legend: {},
    xAxis: { type: 'value', scale: true, name: cost.name, nameLocation: 'middle', nameGap: 26, axisLabel: { formatter: cost.unit, hideOverlap: true } },
    yAxis: { type: log ? 'log' : 'value', scale: true, name: objective.name, nameTextStyle: { align: 'left' }, axisLabel: { formatter: (x) => score(objective.name, x) } },
    tooltip: { formatter: (point) => (point.data.trial ? trialTip(point.data.trial, `${escaped(cost.name)} ${escaped(cost.unit(point.data.cost))}`) : '') },
    series: [{ name: 'trials', type: 'scatter', symbolSize: 8, itemStyle: { color: colour('accent'), opacity: 0.6 }, data: kept.map(as) },
      ...(broken.length ? [{ name: 'break a constraint', type: 'scatter', symbol: 'diamond', symbolSize: 8, itemStyle: { color: colour('warn'), opacity: 0.7 }, data: broken.map(as) }] : []),
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
  return [element('p', { class: 'note' }, 'On the green line lie the trials that no other one beats in both' + (search.trials.every(keepsConstraints) ? '.' : ', of those that keep the constraints.')),
    more.length ? element('ul', { class: 'note', id: 'more-of-budget' }, more.map((one) => element('li', {}, one))) : null,
    element('div', { class: costs.length > 1 ? 'pair' : '' }, costs.map((cost) => figure(`${gainOf(search).name} against ${cost.name}`, 320, () => paretoOption(cost))))];
} });
