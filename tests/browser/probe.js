// Runs inside a report: draws every plot, sorts every table, and writes what it found where --dump-dom shows it.
addEventListener('error', (event) => findings.errors.push(String(event.message)));
for (const picture of document.querySelectorAll('.gallery img')) picture.loading = 'eager';
const findings = { errors: [], plots: 0, empty: [], tables: 0, unsorted: [], sections: [] };
const numbers = (table, column) => [...table.tBodies[0].rows].map((row) => parseFloat(row.cells[column].textContent)).filter((x) => !isNaN(x));
setTimeout(() => {
  try {
    drawAll(false);
    for (const figure of document.querySelectorAll('figure')) {
      findings.plots += 1;
      if (figure.querySelectorAll('svg path, svg circle, canvas').length < 3) findings.empty.push(figure.dataset.plot);
    }
    for (const table of document.querySelectorAll('table')) {
      findings.tables += 1;
      const button = table.querySelector('thead button');
      button.click();
      const once = numbers(table, 0);
      button.click();
      const twice = numbers(table, 0);
      const sorted = (list, sign) => list.every((x, i) => i === 0 || sign * (x - list[i - 1]) >= 0);
      if (once.length > 1 && !((sorted(once, 1) && sorted(twice, -1)) || (sorted(once, -1) && sorted(twice, 1)))) findings.unsorted.push(table.textContent.slice(0, 40));
    }
    findings.pictures = [...document.querySelectorAll('.gallery img')].map((picture) => picture.naturalWidth);
    findings.reachable = [...document.querySelectorAll('nav a, button, input, [tabindex="0"]')].filter((one) => one.tabIndex >= 0).length;  // by keyboard
    findings.unnamed = [...document.querySelectorAll('img:not([alt]), button:empty:not([aria-label])')].length;
    findings.sections = [...document.querySelectorAll('main > [id]')].map((section) => section.id);
    findings.text = Object.fromEntries([...document.querySelectorAll('main > [id]')].map((section) => [section.id, section.textContent]));
    findings.titles = [...document.querySelectorAll('figure')].map((figure) => figure.dataset.plot);
    findings.wide = document.documentElement.scrollWidth > innerWidth + 1;
    const spilling = () => [...document.querySelectorAll('main section, main > div')].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.id);
    findings.spilling = spilling();
    document.body.style.width = '360px';  // a narrow phone: windows do not become as narrow
    findings.spilling.push(...spilling());
    document.body.style.width = '';
    findings.broken = Boolean(window.broken);
    for (const name of ['dark', 'light']) theme(name);
  } catch (error) { findings.errors.push(String(error && error.stack)); }
  const out = document.createElement('pre');
  out.id = 'findings';
  out.textContent = JSON.stringify(findings);
  document.body.append(out);
}, 300);
