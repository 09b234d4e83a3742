import type { FieldType, Message, MessageField } from './message.ts';

export type MessageFields = Readonly<Record<number, readonly [name: string, type: FieldType, is?: MessageField['is']]>>;

/** Returns a message with these fields. */
export function message(fields: MessageFields): Message {
  return new Map(
    Object.entries(fields).map(([number, [name, type, is]]) => [
      Number(number),
      { name, type, ...(is === undefined ? {} : { is }) },
    ]),
  );
}

const ownerReference = message({
  1: ['kind', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['controller', 'boolean', 'optional'],
  7: ['blockOwnerDeletion', 'boolean', 'optional'],
});

const managedFields = message({
  1: ['manager', 'string'],
  2: ['operation', 'string'],
  3: ['apiVersion', 'string'],
  4: ['time', 'time'],
  6: ['fieldsType', 'string'],
  7: ['fieldsV1', 'json'],
  8: ['subresource', 'string'],
});

/** The message of `metadata`, which each object has. */
export const metadata: Message = message({
  1: ['name', 'string'],
  2: ['generateName', 'string'],
  3: ['namespace', 'string'],
  5: ['uid', 'string'],
  6: ['resourceVersion', 'string'],
  7: ['generation', 'integer'],
  8: ['creationTimestamp', 'time'],
  9: ['deletionTimestamp', 'time'],
  10: ['deletionGracePeriodSeconds', 'integer', 'optional'],
  11: ['labels', 'string', 'map'],
  12: ['annotations', 'string', 'map'],
  13: ['ownerReferences', ownerReference, 'list'],
  14: ['finalizers', 'string', 'list'],
  17: ['managedFields', managedFields, 'shown'],
});

/** The message of one requirement of a selector. */
export const requirement: Message = message({
  1: ['key', 'string'],
  2: ['operator', 'string'],
  3: ['values', 'string', 'list'],
});

export const labelSelector: Message = message({
  1: ['matchLabels', 'string', 'map'],
  2: ['matchExpressions', requirement, 'list'],
});
