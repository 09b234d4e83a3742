import { conditionsSchema, defineModel } from 'homeostat';

const [text, integer] = [{ type: 'string' }, { type: 'integer' }] as const;

/** A kind of owners: the controller of a team creates the workers of the team. */
export const Team = defineModel({
  gvk: 'work.example.com/v1/Team',
  plural: 'teams',
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: integer }, required: ['size'] },
      status: {
        type: 'object',
        properties: { observedGeneration: integer, members: integer, conditions: conditionsSchema },
      },
    },
    required: ['spec'],
  } as const,
});

export const Worker = defineModel({
  gvk: 'work.example.com/v1/Worker',
  plural: 'workers',
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { task: text }, required: ['task'] },
      status: { type: 'object', properties: { busy: { type: 'boolean' } } },
    },
    required: ['spec'],
  } as const,
  indexes: ['spec.task'],
});

/** A kind without conditions. */
export const Note = defineModel({
  gvk: 'work.example.com/v1/Note',
  plural: 'notes',
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { text } },
      status: { type: 'object', properties: { seen: integer } },
    },
  } as const,
});
