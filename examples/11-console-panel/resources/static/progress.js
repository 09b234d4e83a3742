// A panel on the page of each task. Text is set as text, so markup in an object stays text.
export function mount(element, { object }) {
  const done = object.spec.done ?? 0;
  const bar = document.createElement('progress');
  bar.max = 100;
  bar.value = done;
  bar.setAttribute('aria-label', 'Done');
  const text = document.createElement('p');
  text.textContent = `${done} % of “${object.spec.title}” is done.`;
  element.append(bar, text);
}
