// Two searches side by side.
'use strict';
const nameOf = (contents, i) => contents.name || contents.title || `search ${i + 1}`;

sections.push({ id: 'compare-summary', title: 'Side by side', wide: true, build: () => {
  const rows = [], bests = data.searches.map((contents) => contents.result.best || {});
  const signed = (show) => (a, b) => (b > a ? '+' : '−') + show(Math.abs(b - a));
  const row = (what, of, show, apart = signed(show)) => rows.push({ what, values: data.searches.map((contents, i) => of(contents.result, bests[i], contents)), show, apart });
  row('status', (result) => result.status, (x) => String(x));
  for (const name of new Set(bests.flatMap((best) => Object.keys(best.metrics || {})))) {
    const show = (x) => score(name, x), apart = isShare(name) ? (a, b) => change(name, a, b) : undefined;
    row(`${name}, float`, (result) => at(result, 'baseline', 'metrics', name, 'value'), show, apart);
    row(`${name}, best`, (result, best) => at(best, 'metrics', name, 'value'), show, apart);
    if (bests.some((best) => at(best, 'holdout', name))) row(`${name}, best on hold-out`, (result, best) => at(best, 'holdout', name, 'value'), show, apart);
  }
  row('size', (result, best) => best.bytes, bytes);
  row('latency', (result, best) => at(best, 'latency_ms', 'median'), milliseconds);
  row('operators in float', (result, best) => at(best, 'operators', 'float'), (x) => String(x ?? '–'));
  row('trials executed', (result) => at(result, 'trials', 'executed'), (x) => String(x ?? '–'));
  row('time', (result) => result.seconds, seconds);
  const columns = [{ title: 'what', value: (one) => one.what }, ...data.searches.map((contents, i) => ({ title: nameOf(contents, i), value: (one) => one.values[i], show: (one) => one.show(one.values[i]) }))];
  columns.push({ title: 'difference', value: (one) => one.values[1] - one.values[0], show: (one) => (one.values.every(isNumber) && one.values[0] !== one.values[1] ? one.apart(...one.values) : '') });
  return [element('h1', {}, data.searches.map(nameOf).join(' and ')), element('section', {}, table(columns, rows))];
} });

// Searches with the same objective share a plot.
function bestSoFarOption(name) {
  const some = data.searches.map((contents, i) => ({ contents, i })).filter(({ contents }) => objectiveOf(contents).name === name);
  const lines = some.map(({ contents }) => bestSoFar(contents)), log = logarithmic(lines.flat().map((point) => point[1]));
  return {
    grid: { left: 12, right: 16, top: 34, bottom: 28, containLabel: true }, legend: {}, tooltip: { trigger: 'axis', formatter: (points) => points.map((point) => `${point.marker}${escaped(point.seriesName)}: ${escaped(score(name, point.value[1]))}`).join('<br>') },
    xAxis: { type: 'value', name: 'trial', nameLocation: 'middle', nameGap: 24, minInterval: 1, splitLine: { show: false } }, yAxis: { type: log ? 'log' : 'value', scale: true, axisLabel: { formatter: (x) => score(name, x) } },
    series: lines.map((line, k) => ({ name: nameOf(some[k].contents, some[k].i), type: 'line', step: 'end', symbol: 'none', lineStyle: { width: 2 }, data: line })),
  };
}

sections.push({ id: 'compare-history', title: 'Best so far', build: () =>
  [...new Set(data.searches.map((contents) => objectiveOf(contents).name))].map((name) => figure(`${name} of the best trial so far`, 340, () => bestSoFarOption(name))) });

sections.push({ id: 'compare-parameters', title: 'Best parameters', build: () => {
  const bests = data.searches.map((contents) => at(contents.result, 'best', 'params') || {}), names = [...new Set(bests.flatMap(Object.keys))];
  const share = (contents, name) => at(contents.importance.find((item) => item.name === name), 'share');
  if (!names.length) return null;
  const rows = names.map((name) => ({ name, values: bests.map((best) => (name in best ? words(best[name]) : '–')), shares: data.searches.map((contents) => share(contents, name)) }));
  return [element('p', { class: 'note' }, 'The parameters of each search\'s best trial, and how much each parameter mattered in that search. Rows that differ are marked.'),
    table([{ title: 'parameter', value: (row) => row.name, show: (row) => pretty(row.name) }, ...data.searches.flatMap((contents, i) => [{ title: nameOf(contents, i), text: 'text', value: (row) => row.values[i] }, { title: 'importance', value: (row) => row.shares[i], show: (row) => percent(row.shares[i]) }])], rows,
      { decorate: (line, row) => { if (row.values[0] !== row.values[1]) line.className = 'chosen'; } })];
} });

sections.push({ id: 'compare-layers', title: 'Layers', build: () => {
  const sides = data.searches.map((contents) => new Map(layersOf(contents).map((layer) => [layer.node, layer])));
  const names = [...new Set(sides.flatMap((side) => [...side.keys()]))], shown = (layer) => (layer ? precision(layer) + (layer.weight ? `, weights ${layer.weight}` : '') : '–');
  if (!names.length) return null;
  return [table([{ title: 'operator', value: (name) => name }, ...data.searches.map((contents, i) => ({ title: nameOf(contents, i), text: 'text', value: (name) => shown(sides[i].get(name)) }))], names,
    { tall: names.length > 20, decorate: (line, name) => { if (shown(sides[0].get(name)) !== shown(sides[1].get(name))) line.className = 'chosen'; } })];
} });
