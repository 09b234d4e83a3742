import { expect } from 'chai';
import { labelKeyCauses } from './label-keys.ts';
import type { Writer } from './label-keys.ts';

const serviceDomain = 'svc.example.net';

/** Returns the keys that are refused. */
function refused(
  writer: Writer,
  next: Record<string, string> | undefined,
  previous?: Record<string, string>,
): string[] {
  return labelKeyCauses(next, previous, { writer, serviceDomain }).map(({ message }) => message.split('"')[1] ?? '');
}

describe('label keys', () => {
  const all = { plain: 'a', 'example.com/x': 'a', 'svc.example.net/x': 'a', 'sub.svc.example.net/x': 'a' };

  it('without a prefix are refused for plugins, and keys in the service domain are refused for plugins and users', () => {
    expect(refused('service', all)).to.deep.equal([]);
    expect(refused('user', all)).to.deep.equal(['svc.example.net/x', 'sub.svc.example.net/x']);
    expect(refused('plugin', all)).to.deep.equal(['plain', 'svc.example.net/x', 'sub.svc.example.net/x']);
  });

  it('are allowed when their prefix is neither the service domain nor below it, even if the key contains the domain', () => {
    expect(
      refused('plugin', { 'mysvc.example.net/x': 'a', 'example.net/x': 'a', 'net/svc.example.net': 'a' }),
    ).to.deep.equal([]);
  });

  it('are checked only when they are added or their value changes', () => {
    expect(refused('plugin', all, { ...all, gone: 'a' })).to.deep.equal([]);
    expect(refused('plugin', { ...all, plain: 'b' }, all)).to.deep.equal(['plain']);
    expect(refused('user', { ...all, 'svc.example.net/x': 'b', 'svc.example.net/y': 'a' }, all)).to.deep.equal([
      'svc.example.net/x',
      'svc.example.net/y',
    ]);
    expect(refused('plugin', undefined, all)).to.deep.equal([]);
    expect(refused('plugin', { toString: 'a' }, {})).to.deep.equal(['toString']);
  });

  it('that are refused are reported with the field metadata.labels, but only the first hundred of them', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`k${index}`, 'a']));
    const causes = labelKeyCauses(many, undefined, { writer: 'plugin', serviceDomain });
    expect(causes).to.have.length(100);
    expect(causes[0]).to.deep.equal({
      reason: 'FieldValueInvalid',
      field: 'metadata.labels',
      message: `Invalid value: "k0": a plugin's key needs a prefix: <domain>/<name>`,
    });
  });
});
