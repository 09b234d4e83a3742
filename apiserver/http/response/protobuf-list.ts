import type { JsonObject } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Entry } from '../../index/entry.ts';
import { encodeItem, encodeProtobufList } from '../../protobuf/encode-object.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import type { AnswerMemory } from './answer-memory.ts';
import { setProtobuf } from './responses.ts';

/** The number of objects that are encoded in one turn of the event loop, which takes some milliseconds. */
const encodedPerTurn = 100;

export interface ProtobufList {
  /** The list without its items. */
  readonly head: JsonObject;
  readonly entries: readonly Entry[];
  /** The counter of the memory that the response takes. */
  readonly memory: AnswerMemory;
}

/** Sends a list in protobuf. The whole list is in memory, because an encoded list begins with its length. */
export async function sendProtobufList(context: Context, { head, entries, memory }: ProtobufList): Promise<void> {
  // Twice the size of the JSON is counted. Protobuf is smaller than JSON, but for a moment both the items and the whole
  // list are in memory.
  memory.hold(
    context,
    entries.reduce((sum, { bytes }) => sum + 2 * bytes.length, 0),
  );
  const items: Buffer[] = [];
  for (const { bytes } of entries) {
    items.push(encodeItem({ ...decodeObject(bytes) }));
    if (items.length % encodedPerTurn === 0) await nextTurn();
  }
  setProtobuf(context, encodeProtobufList(head, items));
}
