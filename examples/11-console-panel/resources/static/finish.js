// A button on the page of each task. The console shows the text that `run` returns, as a message.
export async function run({ object, send }) {
  const { name } = object.metadata;
  await send('PATCH', `/apis/tasks.example.com/v1/tasks/${name}`, { spec: { done: 100 } });
  return `${name} is finished`;
}
