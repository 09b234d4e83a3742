import type { Steps } from '../turns/steps.ts';
import { concatenated, joinMembers, jsonMembersOf } from './document-piece.ts';
import type { DocumentPiece } from './document-piece.ts';
import { metaSchemas } from './meta-schemas.ts';
import { OperationIds } from './operation-id.ts';
import { documentedErrors } from './responses.ts';
import { security, securitySchemes } from './security-schemes.ts';

/** The `info` of a document. */
export interface DocumentInfo {
  readonly title: string;
  /** The version of Homeostat. */
  readonly version: string;
}

/** Returns an OpenAPI 3.0 document of these pieces, as JSON. It takes at least one step for each piece. */
export function* documentOf(info: DocumentInfo, pieces: readonly DocumentPiece[]): Steps<Buffer> {
  const ids = new OperationIds();
  const paths: Buffer[] = [];
  for (const piece of pieces) {
    yield;
    paths.push(Buffer.from(jsonMembersOf(ids.unique(piece.paths))));
  }
  const head = jsonMembersOf({ openapi: '3.0.3', info, security, tags: tagsOf(pieces) });
  const schemas = [...pieces.map((piece) => piece.schemas), Buffer.from(jsonMembersOf(metaSchemas))];
  yield;
  return yield* concatenated([
    Buffer.from(`{${head},"paths":{`),
    ...joinMembers(paths),
    Buffer.from('},"components":{"schemas":{'),
    ...joinMembers(schemas),
    Buffer.from(
      `},"responses":${JSON.stringify(documentedErrors)},"securitySchemes":${JSON.stringify(securitySchemes)}}}`,
    ),
  ]);
}

/** Returns the tags without duplicates. A plugin has one tag for all its endpoints. */
export function tagsOf(pieces: readonly DocumentPiece[]): DocumentPiece['tags'] {
  const tags = new Map(pieces.flatMap((piece) => piece.tags.map((tag) => [tag.name, tag])));
  return [...tags.values()];
}
