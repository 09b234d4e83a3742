import { expect } from 'chai';
import { statusCodes } from '@homeostat/controller-runtime/api';
import type { StatusReason } from '@homeostat/controller-runtime/api';
import { person, persons } from '../models/models.ts';
import type { Answer, TestServer } from './test-server.ts';

/** The expected response to a refused request. */
export interface Refusal {
  readonly reason: StatusReason;
  /** The status code. Default: the code of the reason. */
  readonly code?: number;
  /** A text that the message contains, or a pattern that it matches. */
  readonly message?: string | RegExp;
  /** The causes as `<reason> <field>`, in any order. */
  readonly causes?: readonly string[];
  readonly details?: object;
}

/** Checks that a response is a Status of the documented shape with the expected fields. */
export function expectRefusal(answer: Answer, expected: Refusal): void {
  const code = expected.code ?? statusCodes[expected.reason];
  const seen = `${answer.status} ${answer.text.slice(0, 400)}`;
  expect(answer.status, seen).to.equal(code);
  expect(answer.headers['content-type'], seen).to.equal('application/json');
  const { body } = answer;
  expect(body, seen).to.include({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: expected.reason, code });
  expect(body.metadata, seen).to.deep.equal({});
  expect(body.message, seen).to.be.a('string').and.not.empty;
  if (typeof expected.message === 'string') expect(body.message).to.contain(expected.message);
  if (expected.message instanceof RegExp) expect(body.message).to.match(expected.message);
  if (expected.details !== undefined) expect(body.details, seen).to.deep.include(expected.details);
  if (expected.causes !== undefined) expect(causesOf(answer), seen).to.have.members(expected.causes);
}

function causesOf({ body }: Answer): string[] {
  const causes = (body.details?.causes ?? []) as { reason: string; field?: string; message: string }[];
  for (const { message } of causes) expect(message).to.be.a('string').and.not.empty;
  return causes.map(({ reason, field }) => `${reason} ${field}`);
}

let markers = 0;

/**
 * Does the work, and checks that it had no effect: the revision of the database does not change, and the first event of
 * an open watch is that of a marker, which is written after the work.
 */
export async function leavesNoTrace<T>(server: TestServer, work: () => Promise<T>): Promise<T> {
  const before = await server.revision(persons);
  const watch = await server.watch(`${persons}?watch=true&resourceVersion=${before}`);
  const result = await work();
  expect(await server.revision(persons), 'the revision after a refused write').to.equal(before);
  const marker = `marker-${(markers += 1)}`;
  await server.create(persons, person(marker));
  await watch.count(1);
  expect(watch.summary).to.deep.equal([`ADDED ${marker}`]);
  watch.close();
  await server.delete(`${persons}/${marker}`);
  return result;
}
