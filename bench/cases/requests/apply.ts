import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import { ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/** There are more objects than connections, so that two requests never change the same object at the same time. */
const objects = 1_000;

/** Labels that give a person a size of 10 KB. Server-side apply records an owner for each label. */
const labels = Object.fromEntries(
  Array.from({ length: 120 }, (_, index) => [`example.com/label-${index.toString()}`, 'x'.repeat(50)]),
);

/**
 * Compares a server-side apply with a PUT of the same 10 KB. Each request changes its object, and the change is
 * durable.
 */
export async function apply({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  const url = await server.call<string>('start', `sqlite:${join(folder, 'apply.db')}`);
  await server.call('register', threeIndexes);
  await server.call('fill', { count: objects });
  let number = objects;
  const body = (prefix: string): { name: string; text: string } => {
    number += 1;
    const name = `${prefix}-${(number % objects).toString()}`;
    const { metadata, ...person } = newPerson({ name, number });
    return { name, text: JSON.stringify({ metadata: { ...metadata, labels }, ...person }) };
  };
  // The applies and the PUTs change different objects, so that no object has fields of both field managers.
  const applied = (): string => {
    const { name, text } = body('a');
    return formatRequest('PATCH', `${personsPath}/${name}?fieldManager=bench`, text);
  };
  const put = (): string => {
    const { name, text } = body('p');
    return formatRequest('PUT', `${personsPath}/${name}`, text);
  };
  const { rounds, seconds } = settings;
  const load = (request: () => string) => () => loadHttp({ url, connections: 64, seconds, request });
  const found = await alternate(rounds, { ours: load(applied), limit: load(put) });
  return [{ name: 'apply, 64 connections', ...found, target: ratioAtLeast(0.2, found) }];
}
