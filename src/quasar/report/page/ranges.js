// Where the values lie, and the range that the codes cover, for the layers that lose most.
'use strict';
// {low, high: of the bins, counts, range: [a, b] that codes can express, min, max, type}
function histogramOption(part) {
  const width = (part.high - part.low) / part.counts.length, total = part.counts.reduce((a, b) => a + b, 0) || 1;
  const [low, high] = part.range;
  return {
    grid: { left: 8, right: 14, top: 10, bottom: 6, containLabel: true },
    xAxis: { type: 'value', min: Math.min(part.low, low), max: Math.max(part.high, high), axisLabel: { formatter: (x) => number(x, 2), hideOverlap: true, showMinLabel: false, showMaxLabel: false }, splitLine: { show: false } },
    yAxis: { type: 'log', axisLabel: { show: false }, axisLine: { show: false }, axisTick: { show: false }, splitLine: { show: false }, min: 0.5 / total },
    tooltip: { trigger: 'axis', axisPointer: { type: 'line' }, formatter: ([bar]) => (bar ? `${number(bar.value[0], 3)}: ${percent(bar.value[1], 3)} of the values` : '') },
    series: [{ type: 'line', step: 'middle', symbol: 'none', lineStyle: { width: 1, color: colour('accent') }, areaStyle: { color: colour('accent'), opacity: 0.3, origin: 'start' }, data: part.counts.map((count, i) => [part.low + (i + 0.5) * width, Math.max(count / total, 0.5 / total)]),
      markArea: { silent: true, itemStyle: { color: colour('good'), opacity: 0.13 }, data: [[{ xAxis: low }, { xAxis: high }]] },
      markLine: { silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: colour('good'), width: 1.5, type: 'solid' }, data: [{ xAxis: low }, { xAxis: high }] } }],
  };
}

function histogramFigure(what, name, part) {
  const [low, high] = part.range, clipped = isNumber(part.clipped) && part.clipped > 0 ? ` · ${part.clipped < 1e-5 ? '< 0.001 %' : percent(part.clipped, 3)} clipped` : '';
  const node = figure('', 130, () => histogramOption(part));
  node.dataset.plot = 'histogram';
  node.prepend(element('figcaption', { title: name }, what + (name ? ' ' + tail(name, 30) : '') + ' ', element('small', {}, `${part.type} · ${number(low, 3)} … ${number(high, 3)}${clipped}`)));
  return node;
}

sections.push({ id: 'ranges', title: 'Ranges of the worst layers', build: () => {
  const worst = at(search.result, 'best', 'ranges');
  if (!worst || !worst.length) return null;
  return [element('p', { class: 'note' }, 'How the values of the layers that lose most are distributed (counts on a logarithmic axis). Green is what the codes can express: what lies outside is clipped, and the wider it is, the coarser are the steps.'),
    ...worst.map((layer) => element('div', {}, element('h3', {}, element('span', { title: layer.node }, tail(layer.node, 60)), ' ', element('small', { class: 'soft' }, layer.type)),
      element('div', { class: 'pair' }, layer.activation ? histogramFigure('input', layer.activation.name, layer.activation) : null, layer.weight ? histogramFigure('weights', '', layer.weight) : null)))];
} });
