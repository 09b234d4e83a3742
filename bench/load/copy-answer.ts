/** Lets the server `koa-echo` respond to GET with the bytes of another server's response. */
export async function copyAnswer(from: string, echo: string): Promise<void> {
  const body = await (await fetch(from)).text();
  const echoed = await (await fetch(echo, { method: 'PUT', body })).text();
  if (echoed !== body) throw new Error(`the echo of ${from} differs: ${echoed.slice(0, 200)}`);
}
