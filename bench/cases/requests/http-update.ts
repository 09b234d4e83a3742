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

/** Compares a durable PUT, which changes the object each time, with koa, which parses the body and sends it back. */
export async function httpUpdate({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  await using koa = new Child('koa-echo');
  const url = await server.call<string>('start', `sqlite:${join(folder, 'http-update.db')}`);
  const koaUrl = await koa.call<string>('start');
  await server.call('register', threeIndexes);
  await server.call('fill', { count: objects });
  let number = objects;
  const request = (): string => {
    number += 1;
    const name = `p-${(number % objects).toString()}`;
    return formatRequest('PUT', `${personsPath}/${name}`, JSON.stringify(newPerson({ name, number })));
  };
  const { rounds, seconds } = settings;
  const load = (to: string) => () => loadHttp({ url: to, connections: 64, seconds, request });
  const found = await alternate(rounds, { ours: load(url), limit: load(koaUrl) });
  return [{ name: 'http-update, 64 connections', ...found, target: ratioAtLeast(0.5, found) }];
}
