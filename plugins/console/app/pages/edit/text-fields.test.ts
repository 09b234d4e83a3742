import { expect } from 'chai';
import { parseField } from '../../base/field-path.ts';
import { isObject } from '../../base/json.ts';
import type { KindSchema } from '../../state/schemas.ts';
import { completionAfter, lineOfField } from './text-fields.ts';

const state = { type: 'string', enum: ['open', 'closed', 'yes'] };
const part = { type: 'object', properties: { state, urgent: { type: 'boolean' } } };
const spec = {
  type: 'object',
  properties: { ...part.properties, parts: { type: 'array', items: part }, moods: { items: state } },
};
const schema: KindSchema = {
  root: { type: 'object', properties: { kind: { type: 'string' }, spec } },
  resolve: (value) => (isObject(value) ? value : {}),
};

const offered = (before: string): readonly string[] =>
  completionAfter(before, schema)?.options.map(({ apply }) => apply) ?? [];

describe('the text editor of an object', () => {
  it('offers the names of the fields that the schema allows at the cursor', () => {
    expect(offered('')).to.deep.equal(['kind: ', 'spec: ']);
    expect(offered('kind: X\nspec:\n  sta')).to.deep.equal(['state: ', 'urgent: ', 'parts: ', 'moods: ']);
    expect(offered('spec:\n  parts:\n    - state: open\n      ')).to.deep.equal(['state: ', 'urgent: ']);
    expect(offered('spec:\n  parts:\n    - ')).to.deep.equal(['state: ', 'urgent: ']);
    expect(offered('{\n  "spec": {\n    "ur')).to.deep.equal(['state": ', 'urgent": ', 'parts": ', 'moods": ']);
  });

  it('offers the values that the schema allows at the cursor, in quotes where YAML would misread them', () => {
    expect(offered('spec:\n  state: o')).to.deep.equal(['open', 'closed', '"yes"']);
    expect(offered('spec:\n  parts:\n    - urgent: ')).to.deep.equal(['true', 'false']);
    expect(offered('spec:\n  moods:\n    - o')).to.deep.equal(['open', 'closed', '"yes"']);
    expect(offered('{\n  "spec": {\n    "state": ')).to.deep.equal(['"open"', '"closed"', '"yes"']);
    expect(offered('{\n  "spec": {\n    "state": "o')).to.deep.equal(['open"', 'closed"', 'yes"']);
    expect(offered('spec:\n  state: open # why')).to.deep.equal([]);
  });

  it('shows a message at the line of its field', () => {
    const yaml =
      'kind: X\nspec:\n  parts:\n    - state: open\n      urgent: 1\n    - state: odd\n  state: no\nstate: 1\n';
    const lineOf = (field: string): number => lineOfField(yaml, parseField(field));
    expect(lineOf('kind')).to.equal(1);
    expect(lineOf('spec.state')).to.equal(7);
    expect(lineOf('spec.parts[0].urgent')).to.equal(5);
    expect(lineOf('spec.parts[1].state')).to.equal(6);
    expect(lineOf('spec.absent'), 'the nearest field that exists').to.equal(2);
    expect(lineOf('state')).to.equal(8);
    expect(lineOf('other')).to.equal(1);
    expect(lineOfField('items:\n- a: 1\n- b: 2\nlast: 1', ['items', 1, 'b'])).to.equal(3);
    expect(lineOfField('{\n  "spec": {\n    "state": 1\n  }\n}', ['spec', 'state'])).to.equal(3);
    expect(parseField('metadata.labels[example.com/a]')).to.deep.equal(['metadata', 'labels', 'example.com/a']);
  });
});
