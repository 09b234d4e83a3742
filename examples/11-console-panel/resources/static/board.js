// A page that lists at most 100 tasks, the lowest `spec.done` first. Tasks without this field come last.
export async function mount(element, { get }) {
  const { items } = await get('/apis/tasks.example.com/v1/tasks?sort=spec.done,asc&limit=100');
  const list = document.createElement('ul');
  for (const { metadata, spec } of items) {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = `#/objects/tasks.tasks.example.com/-/${metadata.name}`;
    link.textContent = spec.title;
    item.append(link, ` – ${spec.done ?? 0} %`);
    list.append(item);
  }
  element.append(items.length === 0 ? 'There is no task yet.' : list);
}
