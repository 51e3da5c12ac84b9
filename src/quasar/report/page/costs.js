// What operators cost in time, in float and quantized.
'use strict';

function costsOption(operators) {
  const names = briefNames(operators);
  return {
    grid: { left: 10, right: 12, top: 34, bottom: 12, containLabel: true }, legend: {},
    xAxis: { type: 'category', data: operators.map((one) => one.node), axisTick: { show: false }, axisLabel: { rotate: 55, hideOverlap: true, formatter: (name) => tail(names.get(name) || name, 24) } },
    yAxis: { type: 'value', name: 'µs', nameTextStyle: { align: 'left' } },
    tooltip: { trigger: 'axis', formatter: (bars) => `<b>${escaped(bars[0].name)}</b><br>${bars.map((bar) => `${bar.marker}${escaped(bar.seriesName)}: ${escaped(number(bar.value, 3))} µs`).join('<br>')}` },
    series: [['float', 'float_us'], ['quantized', 'quantized_us']].map(([name, key]) => ({ name, type: 'bar', barMaxWidth: 12, itemStyle: { borderRadius: [3, 3, 0, 0] }, data: operators.map((one) => one[key]) })),
  };
}

sections.push({ id: 'costs', title: 'Where the time goes', build: () => {
  const costs = at(search.result, 'best', 'operator_costs') || at(search, 'facts', 'examination', 'operator_costs');
  if (!costs) return null;
  const decided = at(search.result, 'speed_gate', 'told'), more = (one) => one.quantized_us - one.float_us;
  const longest = [...costs.operators].sort((a, b) => Math.max(b.float_us, b.quantized_us) - Math.max(a.float_us, a.quantized_us)).slice(0, 24);
  const names = briefNames(costs.operators), place = new Map(costs.operators.map((one, i) => [one, i]));
  return [element('p', { class: 'note' }, `Microseconds of one run on one thread of this machine, by ONNX Runtime's profile: ${number(costs.float_us, 4)} in float, ${number(costs.quantized_us, 4)} quantized, of which values that become codes take ${number(costs.entering_us, 3)} and codes that become values ${number(costs.leaving_us, 3)}. What ONNX Runtime fuses counts for one of its operators.`),
    decided ? element('p', { class: 'note' }, `When the search began: ${decided}.`) : null,
    figure('The operators that take longest', 320, () => costsOption(longest)),
    table([{ title: '#', value: (one) => place.get(one) + 1 }, { title: 'operator', text: 'text', value: (one) => one.node, show: (one) => element('span', { title: one.node }, tail(names.get(one.node), 34)) }, { title: 'type', text: 'text', value: (one) => one.type },
      { title: 'float, µs', value: (one) => one.float_us, show: (one) => number(one.float_us, 3) }, { title: 'quantized, µs', value: (one) => one.quantized_us, show: (one) => number(one.quantized_us, 3) },
      { title: 'more, µs', value: more, show: (one) => element('span', { class: more(one) > 0 ? 'bad' : '' }, number(more(one), 3)), help: 'What being quantized costs or, below zero, saves' }], costs.operators, { tall: costs.operators.length > 16, sort: { column: 5, down: true } })];
} });
