import { hash } from 'node:crypto';
import { expect } from 'chai';
import { SettingsFileError } from '../../settings/fields.ts';
import { BearerToken } from '../bearer-token.ts';
import { ListedTokens } from './listed-tokens.ts';
import { parseTokenFile } from './token-file.ts';

const path = '/etc/tokens.yaml';
const digest = hash('sha256', 'correct-horse-battery');
const parse = (text: string): ReturnType<typeof parseTokenFile> => parseTokenFile({ path, text });

describe('a file of tokens', () => {
  it('lists users with groups and uid, by the SHA-256 of their token', () => {
    const text = `tokens:\n- user: ci\n  uid: "7"\n  groups: [deployers]\n  sha256: ${digest.toUpperCase()}\n`;
    const tokens = new ListedTokens(parse(text));
    const { isValid, ...user } = tokens.ofToken(new BearerToken('correct-horse-battery')) ?? {
      username: '',
      groups: [],
    };
    expect(user).to.deep.equal({
      username: 'ci',
      uid: '7',
      groups: ['deployers', 'system:authenticated'],
    });
    for (const other of ['correct-horse-batterz', '', digest, 'correct-horse-battery ']) {
      expect(tokens.ofToken(new BearerToken(other)), other).to.equal(undefined);
    }
    tokens.replace(parse(text));
    expect(isValid?.()).to.equal(true);
    tokens.replace(parse(text.replace('deployers', 'readers')));
    expect(isValid?.()).to.equal(false);
    tokens.replace([]);
    expect(isValid?.()).to.equal(false);
    expect(tokens.ofToken(new BearerToken('correct-horse-battery'))).to.equal(undefined);
  });

  it('accepts only tokens of the current list, and refuses a token that was removed from it', () => {
    const text = `tokens:\n- user: ci\n  groups: [deployers]\n  sha256: ${digest}\n`;
    const tokens = new ListedTokens(parse(text));
    const token = new BearerToken('correct-horse-battery');
    const first = tokens.ofToken(token);
    expect(first?.groups).to.deep.equal(['deployers', 'system:authenticated']);
    expect(tokens.ofToken(token)).to.equal(first);
    tokens.replace(parse(text.replace('deployers', 'readers')));
    expect(tokens.ofToken(token)?.groups).to.deep.equal(['readers', 'system:authenticated']);
    tokens.replace([]);
    expect(tokens.ofToken(token)).to.equal(undefined);
  });

  const mistakes: readonly (readonly [text: string, message: string])[] = [
    ['', `${path}: is empty`],
    ['- a\n', `${path}:1: must be a mapping of keys to values`],
    ['tokens: [\n', `${path}:2: not valid YAML`],
    ['tokens:\n- *a"secret"\n', `${path}:2: not valid YAML`],
    ['token: []\n', `${path}:1: token: is not known here; the known keys are tokens`],
    ['tokens: ci\n', `${path}:1: tokens: must be a list`],
    ['tokens:\n- ci\n', `${path}:2: tokens[0]: must be a mapping`],
    [`tokens:\n- sha256: ${digest}\n`, `${path}:2: tokens[0].user: is required`],
    ['tokens:\n- user: ci\n', `${path}:2: tokens[0].sha256: is required`],
    ['tokens:\n- user: ci\n  sha256: secret-itself\n', `${path}:3: tokens[0].sha256: must be the SHA-256 of a token`],
    [`tokens:\n- user: 7\n  sha256: ${digest}\n`, `${path}:2: tokens[0].user: must be a text`],
    ...['', 'a\\nb', 'a\\u200bb'].map((user) => {
      const rule = 'must have 1 to 256 characters, without control characters and other invisible characters';
      return [`tokens:\n- user: "${user}"\n  sha256: ${digest}\n`, `${path}:2: tokens[0].user: ${rule}`] as const;
    }),
    [`tokens:\n- user: ci\n  sha256: ${digest}\n  groups: a\n`, `${path}:4: tokens[0].groups: must be a list`],
    [
      `tokens:\n- user: ci\n  sha256: ${digest}\n  groups:\n  - a\n  - 7\n`,
      `${path}:6: tokens[0].groups[1]: must be a`,
    ],
    [`tokens:\n- user: ci\n  sha256: ${digest}\n  password: x\n`, `${path}:4: tokens[0].password: is not known here`],
    [
      `tokens:\n- user: ci\n  sha256: ${digest}\n- user: di\n  sha256: ${digest}\n`,
      `${path}:5: tokens[1].sha256: is in this file already`,
    ],
    [`tokens: []\n---\ntokens: []\n`, `${path}:3: must hold one YAML document only`],
  ];
  for (const [text, message] of mistakes)
    it(`refuses ${JSON.stringify(text.replaceAll(digest, '…'))}, naming file and line`, () => {
      expect(() => parse(text))
        .to.throw(SettingsFileError, message)
        .with.property('message')
        .not.include('secret');
    });
});
