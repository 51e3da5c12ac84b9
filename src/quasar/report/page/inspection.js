// What inspect says of a model: what is in it, what would be quantized and why not, and what that would cost.
'use strict';
sections.push({ id: 'model', title: 'Model', wide: true, build: () => {
  const facts = search.facts;
  if (!facts) return null;
  const examined = facts.examination, quantized = facts.nodes ? facts.nodes.filter((node) => node.quantized).length : undefined;
  return [element('h1', {}, search.title),
    element('p', { class: 'lead' }, [...facts.inputs].join(', '), ' → ', [...facts.outputs].join(', '), `, opset ${facts.opset}, ONNX Runtime ${facts.needs.onnxruntime} or newer.`),
    element('div', { class: 'cards' }, card('size', bytes(facts.bytes), `${facts.parameters.toLocaleString('en')} parameters`), facts.nodes ? card('operators', String(facts.nodes.length), `${quantized} would be quantized`) : null,
      ...(examined ? examined.schemes.slice(0, 4).map((scheme) => card(scheme.name, number(scheme.distance, 3), 'distance at the outputs')) : [])),
    examined ? element('p', { class: 'note' }, `Measured on ${examined.samples} samples${examined.layer_samples ? `; layers alone and up to them on the first ${examined.layer_samples}` : ''}.`) : null];
} });

sections.push({ id: 'verdicts', title: 'In words', build: () => (search.facts && search.advice.length ? [element('ol', { class: 'steps' }, search.advice.map((text) => element('li', {}, withCode(text))))] : null) });

sections.push({ id: 'nodes', title: 'Operators', build: () => {
  const nodes = at(search, 'facts', 'nodes');
  if (!nodes) return null;
  const place = new Map(nodes.map((node, i) => [node, i]));
  return [element('p', { class: 'note' }, 'Every operator after ONNX Runtime\'s clean-up, and what would become of it.'), table([
    { title: '#', value: (node) => place.get(node) + 1 }, { title: 'operator', text: 'text', value: (node) => node.name }, { title: 'type', text: 'text', value: (node) => node.type },
    { title: 'becomes', text: 'text', value: (node) => (node.quantized ? 'quantized' : 'float'), show: (node) => element('span', { class: node.quantized ? 'good' : 'bad' }, node.quantized ? 'quantized' : 'float') },
    { title: 'why', text: 'text wrap', value: (node) => node.why || node.as || '' }], nodes, { tall: nodes.length > 20, limit: 400 })];
} });
