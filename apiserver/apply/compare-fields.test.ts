import { expect } from 'chai';
import { defineModel } from '@homeostat/controller-runtime/api';
import { compileSchema } from '../schema/compile-schema.ts';
import { compareFields } from './compare-fields.ts';

const tags = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' } as const;
const { shape } = compileSchema(
  defineModel({
    gvk: 'things.example.com/v1/Thing',
    plural: 'things',
    schema: { type: 'object', properties: { spec: { type: 'object', properties: { tags } } } },
  }),
);

const content = (count: number): { spec: { tags: string[] } } => ({
  spec: { tags: Array.from({ length: count }, (_, index) => `tag-${index}`) },
});

describe('compareFields', () => {
  it('accepts a stored list of more than 10,000 items if the write does not add items to the list', () => {
    expect(() => compareFields(content(10_050), content(10_049), shape)).to.not.throw();
    expect(() => compareFields(content(10_050), content(10_051), shape)).to.throw('10051 items, more than 10000');
  });
});
