import { defineModel } from 'homeostat';

const text = { type: 'string' } as const;
const person = {
  type: 'object',
  required: ['name'],
  properties: { name: text, isAway: { type: 'boolean', default: false } },
} as const;
const badge = { type: 'object', properties: { text, engraving: text } } as const;

/** A kind of persons. A person has a badge, except while away. */
export const Person = defineModel({
  gvk: 'staff.example.com/v1/Person',
  plural: 'people',
  schema: { type: 'object', required: ['spec'], properties: { spec: person } },
});

/** A kind of badges. A controller creates them, and users set the engraving. */
export const Badge = defineModel({
  gvk: 'staff.example.com/v1/Badge',
  plural: 'badges',
  schema: { type: 'object', properties: { spec: badge } },
});
