// The model, operator by operator in the order in which it runs: what became of each, and how much error each one brings.
'use strict';

// The best model's layers; a strategy that measured each one alone tells what that costs at the model's outputs.
function layersOf(contents) {
  const layers = at(contents.result, 'best', 'layers') || [], alone = new Map((at(contents.result, 'tuning', 'sensitivity') || []).map((one) => [one.node, one.output_error]));
  return layers.map((layer) => (alone.has(layer.node) && !isNumber(layer.output_error) ? { ...layer, output_error: alone.get(layer.node) } : layer));
}

// Names without the parts that many of them share, as far as they still tell layers of a type apart.
function briefNames(layers) {
  const parts = (layer) => layer.node.split('/').filter((part) => part), count = new Map();
  for (const layer of layers) for (const part of new Set(parts(layer))) count.set(part, (count.get(part) || 0) + 1);
  for (const share of [0.25, 0.5, 0.75, 0.99]) {
    const brief = new Map(layers.map((layer) => [layer.node, parts(layer).filter((part) => count.get(part) <= Math.max(1, share * layers.length)).join('/')]));
    if (new Set(layers.map((layer) => `${layer.type} ${brief.get(layer.node)}`)).size === layers.length && ![...brief.values()].includes('')) return brief;
  }
  return new Map(layers.map((layer) => [layer.node, layer.node]));
}

// What an operator runs in, and its colour: the bits of its weights, float where it stays in float.
function precision(layer) {
  if (layer.runs === undefined) return '';
  if (layer.runs !== 'integer') return 'float';
  const bits = /(?:u?int)(\d+)/.exec(layer.weight || layer.activation || '');
  return bits ? `${bits[1]} bits` : 'integers';
}
const shades = () => { const s = series(); return { float: colour('bad'), '4 bits': s[3], '8 bits': s[0], '16 bits': s[5], integers: s[7] }; };

function precisionMap(contents) {
  const layers = layersOf(contents), shade = shades(), used = [...new Set(layers.map(precision))], map = element('div', { class: 'map', role: 'img', 'aria-label': 'Precision of every operator in graph order' });
  const paint = () => map.replaceChildren(...layers.map((layer) => element('i', { style: `background:${shades()[precision(layer)]}`, title: `${layer.node}\n${layer.type}: ${precision(layer)}${layer.weight ? '\nweights ' + layer.weight : ''}${layer.why ? '\n' + layer.why : ''}` })));
  paint();
  document.addEventListener('themed', paint);
  return [map, legend(used.map((name) => [`${name} (${layers.filter((layer) => precision(layer) === name).length})`, shade[name]]))];
}

const atLayer = [['nearest rounding', (layer) => at(layer, 'error', 'before')], ['as quantized', (layer) => at(layer, 'error', 'after')], ['quantized alone', (layer) => layer.sensitivity], ['weights', (layer) => layer.weight_error], ['weights, one scale', (layer) => layer.weight_per_tensor]];
const atOutputs = [['quantized alone', (layer) => layer.output_error], ['up to here', (layer) => layer.accumulated]];
const onTheWay = [['of the layer alone', (layer) => layer.noise_to_signal], ['in the real model', (layer) => layer.accumulated_noise]];
// An activation that a kernel absorbs hands out the same result as the layer before it.
const absorbed = (layer, before) => isNumber(layer.accumulated_noise) && before && layer.accumulated_noise === before.accumulated_noise && !layer.weight;
const has = (layer, kinds) => kinds.some(([, of]) => isNumber(of(layer)));

function errorsOption(layers, all, title) {
  const kinds = all.filter(([, of]) => layers.some((layer) => isNumber(of(layer))));
  const brief = briefNames(layersOf(search)), label = (name) => brief.get(name) || name;
  const narrow = innerWidth < 640, ends = (name) => (name.length > 16 ? `${name.slice(0, 7)}…${name.slice(-8)}` : name);
  const positive = layers.flatMap((layer) => kinds.map(([, of]) => of(layer))).filter((x) => x > 0), floor = 10 ** Math.floor(Math.log10(Math.min(...positive)));
  return {
    grid: { left: 10, right: 12, top: 34, bottom: layers.length > 24 ? 44 : 12, containLabel: true }, legend: {},
    xAxis: { type: 'category', data: layers.map((layer) => layer.node), axisTick: { show: false }, axisLabel: { rotate: 55, hideOverlap: true, ...(narrow ? { fontSize: 10, interval: Math.ceil((15 * Math.min(layers.length, 24)) / (innerWidth - 110)) - 1 } : {}), formatter: (name) => (narrow ? ends(label(name)) : tail(label(name), 24)) } },
    yAxis: { type: logarithmic(positive) ? 'log' : 'value', name: title, nameTextStyle: { align: 'left' }, ...(logarithmic(positive) ? { min: floor, startValue: floor } : {}), axisLabel: { formatter: (x) => number(x, 3) } },
    tooltip: { trigger: 'axis', formatter: (bars) => `<b>${escaped(bars[0].name)}</b><br>${bars.map((bar) => `${bar.marker}${escaped(bar.seriesName)}: ${escaped(number(bar.value))}`).join('<br>')}` },
    dataZoom: layers.length > 24 ? [{ type: 'slider', height: 18, bottom: 6, brushSelect: false, borderColor: colour('line'), textStyle: { color: colour('soft') }, labelFormatter: '' }, { type: 'inside', zoomOnMouseWheel: 'ctrl' }] : undefined,
    series: kinds.map(([name, of]) => ({ name, type: 'bar', barMaxWidth: 12, itemStyle: { borderRadius: [3, 3, 0, 0] }, data: layers.map((layer) => (isNumber(of(layer)) ? of(layer) : '-')) })),
  };
}

sections.push({ id: 'layers', title: 'Layers', build: () => {
  const layers = layersOf(search);
  if (!layers.length) return null;
  const known = layers.some((layer) => layer.runs);  // of a quantized model; inspect looks at the float one
  const place = new Map(layers.map((layer, i) => [layer, i])), brief = briefNames(layers);
  const columns = [{ title: '#', value: (layer) => place.get(layer) + 1 }, { title: 'operator', text: 'text', value: (layer) => layer.node, show: (layer) => element('span', { title: layer.node }, tail(brief.get(layer.node), 34)) }, { title: 'type', text: 'text', value: (layer) => layer.type },
    ...(known ? [{ title: 'runs in', text: 'text', value: precision, show: (layer) => element('span', { class: layer.runs === 'integer' ? '' : 'bad' }, precision(layer)) }, { title: 'weights', text: 'text', value: (layer) => layer.weight || '' }, { title: 'output', text: 'text', value: (layer) => layer.activation || '' }] : [])];
  if (layers.some((layer) => isNumber(layer.output_error))) columns.push({ title: 'alone', value: (layer) => layer.output_error, show: (layer) => number(layer.output_error, 3), help: 'Distance at the model\'s outputs when only this layer is quantized' });
  else if (layers.some((layer) => isNumber(layer.sensitivity))) columns.push({ title: 'alone', value: (layer) => layer.sensitivity, show: (layer) => number(layer.sensitivity, 3), help: 'Relative output error when only this layer is quantized' });
  if (layers.some((layer) => layer.error)) columns.push({ title: 'nearest', value: (layer) => at(layer, 'error', 'before'), show: (layer) => number(at(layer, 'error', 'before'), 3), help: 'Relative output error with nearest rounding' }, { title: 'as quantized', value: (layer) => at(layer, 'error', 'after'), show: (layer) => number(at(layer, 'error', 'after'), 3) });
  if (layers.some((layer) => isNumber(layer.accumulated))) columns.push({ title: 'up to here', value: (layer) => layer.accumulated, show: (layer) => number(layer.accumulated, 3), help: 'Distance at the outputs with all layers up to this one quantized' });
  if (layers.some((layer) => isNumber(layer.accumulated_noise))) columns.push({ title: 'noise', value: (layer) => layer.accumulated_noise, show: (layer) => (isNumber(layer.accumulated_noise) ? number(100 * layer.accumulated_noise, 2) + ' %' : '–'), help: 'Of the layer\'s result in the quantized model as ONNX Runtime runs it: ‖y − ŷ‖² / ‖y‖²' });
  if (layers.some((layer) => isNumber(layer.weight_per_tensor))) columns.push({ title: 'weights per tensor', value: (layer) => layer.weight_per_tensor, show: (layer) => number(layer.weight_per_tensor, 3), help: 'Rounding error of the weights with one scale' });
  if (layers.some((layer) => layer.outlier_channels > 0)) columns.push({ title: 'outlier channels', value: (layer) => layer.outlier_channels, show: (layer) => (layer.outlier_channels ? `${layer.outlier_channels} of ${layer.channels}` : ''), help: 'Channels whose weights are over 8 times as wide as the median channel\'s' });
  if (layers.some((layer) => isNumber(layer.weight_error))) columns.push({ title: 'weight error', value: (layer) => layer.weight_error, show: (layer) => number(layer.weight_error, 3), help: 'Mean squared rounding error of the weights over their mean square' });
  if (layers.some((layer) => layer.why)) columns.push({ title: 'why', text: 'text wrap', value: (layer) => layer.why || '' });
  const errors = (title, kinds, axis) => { const some = layers.filter((layer, i) => has(layer, kinds) && !absorbed(layer, layers[i - 1])); return some.length ? figure(title, 320, () => errorsOption(some, kinds, axis)) : null; };
  return [element('p', { class: 'note' }, known ? 'The best model\'s operators in the order in which they run: what each one computes in, as it really runs or, where nobody can tell, as planned, and the error that it brings, as a part of its output\'s variance.' : 'What each layer costs when it is quantized alone, and what has added up to there, in the order in which they run.'),
    ...(known ? precisionMap(search) : []), errors('Error of each layer', atLayer, 'relative error'), errors('Error at the model\'s outputs', atOutputs, 'distance'), errors('Noise along the model', onTheWay, 'noise / signal'), element('div', { style: 'height:.8rem' }), table(columns, layers, { tall: layers.length > 16, sort: known ? { column: 0 } : { column: 3, down: true } })];
} });
