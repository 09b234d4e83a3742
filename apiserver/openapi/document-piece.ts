import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { EndpointRoute } from '../endpoints/serving/endpoint-route.ts';
import type { Steps } from '../turns/steps.ts';
import type { ComponentNames } from './component-names.ts';
import { endpointFragment } from './endpoint-paths.ts';
import { modelFragment } from './model-paths.ts';
import type { Fragment } from './open-api.ts';

/** The part of a document for one model, or for the endpoints of a group version. */
export interface DocumentPiece extends Pick<Fragment, 'tags' | 'paths'> {
  /**
   * The schemas as members of a JSON object, with commas between them. The schemas are the largest part of a piece, so
   * their text is made only once for all documents that contain the piece.
   */
  readonly schemas: Buffer;
}

export function* modelPiece(model: ModelDescriptor, names: ComponentNames): Steps<DocumentPiece> {
  const { tags, paths, schemas } = yield* modelFragment(model, names);
  const texts: Buffer[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    yield;
    texts.push(Buffer.from(jsonMembersOf({ [name]: schema })));
  }
  return { tags, paths, schemas: Buffer.concat(joinMembers(texts)) };
}

export function endpointPiece(routes: readonly EndpointRoute[]): DocumentPiece {
  const { tags, paths } = endpointFragment(routes);
  return { tags, paths, schemas: Buffer.alloc(0) };
}

/** Returns the JSON text of an object without its braces. */
export function jsonMembersOf(object: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(object).slice(1, -1);
}

/** Joins the members of several objects into the members of one object. */
export function joinMembers(parts: readonly Buffer[]): readonly Buffer[] {
  return parts.filter(({ length }) => length > 0).flatMap((part, at) => (at === 0 ? [part] : [comma, part]));
}

const comma = Buffer.from(',');

/** After copying this number of bytes into newly allocated memory, which takes about two milliseconds, a step ends. */
const bytesPerStep = 2 * 1024 * 1024;

/** Returns all parts, one after the other, in one buffer. */
export function* concatenated(parts: readonly Buffer[]): Steps<Buffer> {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  let copied = 0;
  for (const part of parts) {
    at += part.copy(whole, at);
    copied += part.length;
    if (copied < bytesPerStep) continue;
    copied = 0;
    yield;
  }
  return whole;
}
