import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Message } from './message.ts';
import { messageOf } from './object-messages.ts';

/** The number and the type of each field, by message. */
const file = new URL('../../../test/vectors/protobuf-fields.json', import.meta.url);
const { messages } = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly messages: Readonly<Record<string, Readonly<Record<string, readonly [number, string]>>>>;
};

/** Fields as `<number> <name in JSON>`, those of messages in them behind a dot. Names differ from those in JSON by their first letter. */
function published(type: string, path: string): readonly string[] {
  return Object.entries(messages[type] ?? {}).flatMap(([field, [number, inner]]) => {
    const isInline = field === 'rule' || field === 'ruleWithOperations';
    const name = isInline ? '' : field.charAt(0).toLowerCase() + field.slice(1);
    const place = `${path}${number} ${name}${inner.endsWith('[]') ? '[]' : ''}`;
    return [place, ...published(inner.replace('[]', ''), `${place}.`)];
  });
}

/** The same of our message. Messages of other packages have no entry in the vectors, and are left out. */
function ours(message: Message, type: string, path: string): readonly string[] {
  return [...message].flatMap(([number, { name, type: inner, is }]) => {
    const place = `${path}${number} ${name}${is === 'list' ? '[]' : ''}`;
    const known =
      Object.values(messages[type] ?? {})
        .find(([each]) => each === number)?.[1]
        .replace('[]', '') ?? '';
    if (!(inner instanceof Map) || messages[known] === undefined) return [place];
    return [place, ...ours(inner, known, `${place}.`)];
  });
}

describe('the published field numbers', () => {
  for (const kind of [
    'MutatingWebhookConfiguration',
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ]) {
    it(`are those of ${kind}`, () => {
      const message = messageOf({ group: 'admissionregistration.k8s.io', version: 'v1', kind });
      if (message === undefined) throw new Error('there is no message');
      const expected = published(kind, '');
      expect(expected.length).to.be.greaterThan(10);
      expect([...ours(message, kind, '')].sort()).to.deep.equal([...expected].sort());
    });
  }
});
