// A button on the page of each task. What it returns is shown as a message.
export async function run({ object, send }) {
  const { name } = object.metadata;
  await send('PATCH', `/apis/tasks.example.com/v1/tasks/${name}`, { spec: { done: 100 } });
  return `${name} is finished`;
}
