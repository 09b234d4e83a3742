import { defineModel } from 'homeostat';

/** The kind's name in the URLs of the console. */
export const ticketsPath = 'tickets.tickets.example.com';

/** A kind with fields of different types. */
export const Ticket = defineModel({
  gvk: 'tickets.example.com/v1/Ticket',
  plural: 'tickets',
  indexes: ['spec.title'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['title'],
        properties: {
          title: { type: 'string', minLength: 1, maxLength: 2_000_000, description: 'What it is about' },
          priority: { type: 'integer', minimum: 1, maximum: 5 },
          state: { type: 'string', enum: ['open', 'closed'] },
          urgent: { type: 'boolean' },
          watchers: { type: 'array', items: { type: 'string' } },
          place: { type: 'object', properties: { room: { type: 'string' }, floor: { type: 'integer' } } },
        },
      },
      status: { type: 'object', properties: { phase: { type: 'string' } } },
    },
  },
} as const);
