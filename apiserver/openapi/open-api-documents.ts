import { LruCache } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { runInTurns } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { groupVersionsOf, isSameSurface } from './api-surface.ts';
import type { ApiSurface } from './api-surface.ts';
import { ComponentNames } from './component-names.ts';
import { endpointPiece, modelPiece } from './document-piece.ts';
import type { DocumentPiece } from './document-piece.ts';
import { documentOf } from './document.ts';
import { hashOf, surfaceHash } from './surface-hashes.ts';
import { swaggerOf } from './swagger.ts';

/** A document that clients can request. */
export interface ServedDocument {
  /**
   * A hash in hexadecimal digits. Equal documents have equal hashes on all servers of the same version. It is known
   * before the document is built.
   */
  readonly hash: string;
  /** Returns the document from the cache, or builds it. */
  bytes(): Promise<Buffer>;
}

export interface OpenApiDocumentsParts {
  /** Returns the current API of the server. */
  readonly surface: () => ApiSurface;
  /** The version of Homeostat, which documents show as `info.version`. */
  readonly version: string;
}

/** The maximum size of the document cache. In addition, pieces of documents are kept while their models are served. */
const maxCachedBytes = 32 * 1024 * 1024;

type Groups = ReadonlyMap<string, ApiSurface>;

/**
 * The documents, by path. A document is built when a client requests it, in steps between which other requests run. It
 * consists of pieces that are built once for each model. After a change of one model, only the piece of this model is
 * built again.
 */
export class OpenApiDocuments {
  readonly #options: OpenApiDocumentsParts;
  #known: { readonly surface: ApiSurface; readonly groups: Groups; readonly kinds: Groups } | undefined;
  readonly #hashes = new WeakMap<ApiSurface, Promise<string>>();
  /** The bytes of built documents. The key of a document is its path and the hash of the API that it describes. */
  readonly #cache = new LruCache<string, Buffer>({
    maxSize: maxCachedBytes,
    sizeOf: ({ length }) => length + 1,
  });
  readonly #underWay = new Map<string, Promise<Buffer>>();
  /**
   * For each model, the part of the OpenAPI document that describes it, and the names of the model's schemas. If other
   * kinds of the group version change these names, the part is built again.
   */
  readonly #pieces = new WeakMap<ModelDescriptor, { readonly names: string; readonly piece: Promise<DocumentPiece> }>();

  constructor(parts: OpenApiDocumentsParts) {
    this.#options = parts;
  }

  /**
   * Returns the document at `/openapi/v3`, `/openapi/v3/apis/<group>/<version>`, `/openapi/v3/api/<version>`,
   * `/openapi/v2` or `/openapi.json`; undefined for any other path, and for a group version that is not served.
   */
  async find(path: string): Promise<ServedDocument | undefined> {
    const { groups, kinds } = this.#parts();
    if (path === '/openapi/v3') return this.#index(groups);
    if (path === '/openapi.json')
      return this.#whole(path, groups, (pieces) => documentOf(this.#info('Homeostat'), pieces));
    if (path === '/openapi/v2') return this.#whole(path, kinds, (pieces) => swaggerOf(this.#info('Homeostat'), pieces));
    const name = path.slice('/openapi/v3/'.length);
    const part = path.startsWith('/openapi/v3/') ? groups.get(name) : undefined;
    if (part === undefined) return undefined;
    const make = async (): Promise<Buffer> =>
      runInTurns(documentOf(this.#info(`Homeostat ${name}`), await this.#piecesOf([part])));
    return this.#document(path, await this.#hash(part), make);
  }

  #info(title: string): { readonly title: string; readonly version: string } {
    return { title, version: this.#options.version };
  }

  /** Returns the group versions: in `groups` with the endpoints of plugins, in `kinds` without them. */
  #parts(): { readonly groups: Groups; readonly kinds: Groups } {
    const surface = this.#options.surface();
    if (this.#known === undefined || !isSameSurface(this.#known.surface, surface)) {
      const groups = groupVersionsOf(surface);
      const kinds = groupVersionsOf({ models: surface.models, routes: [] });
      this.#known = { surface, groups, kinds };
    }
    return this.#known;
  }

  #hash(part: ApiSurface): Promise<string> {
    const hash = this.#hashes.get(part) ?? runInTurns(surfaceHash(part, this.#options.version));
    this.#hashes.set(part, hash);
    return hash;
  }

  async #index(groups: Groups): Promise<ServedDocument> {
    const paths: Record<string, { readonly serverRelativeURL: string }> = {};
    for (const [name, part] of groups)
      paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${await this.#hash(part)}` };
    const bytes = Buffer.from(JSON.stringify({ paths }));
    return { hash: hashOf(bytes), bytes: () => Promise.resolve(bytes) };
  }

  async #whole(
    path: string,
    groups: Groups,
    documentOfPieces: (pieces: readonly DocumentPiece[]) => Steps<Buffer>,
  ): Promise<ServedDocument> {
    const hashes: string[] = [];
    for (const [name, part] of groups) hashes.push(`${name} ${await this.#hash(part)}`);
    const make = async (): Promise<Buffer> => runInTurns(documentOfPieces(await this.#piecesOf([...groups.values()])));
    return this.#document(path, hashOf(hashes.join('\n')), make);
  }

  #document(path: string, hash: string, make: () => Promise<Buffer>): ServedDocument {
    return { hash, bytes: () => this.#bytesOf(`${path} ${hash}`, make) };
  }

  async #bytesOf(name: string, make: () => Promise<Buffer>): Promise<Buffer> {
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached;
    const made = this.#underWay.get(name) ?? make();
    this.#underWay.set(name, made);
    try {
      const bytes = await made;
      this.#cache.set(name, bytes);
      return bytes;
    } finally {
      this.#underWay.delete(name);
    }
  }

  async #piecesOf(parts: readonly ApiSurface[]): Promise<readonly DocumentPiece[]> {
    const pieces: DocumentPiece[] = [];
    for (const { models, routes } of parts) {
      const names = new ComponentNames(models);
      for (const model of models) pieces.push(await this.#pieceOf(model, names));
      if (routes.length > 0) pieces.push(endpointPiece(routes));
    }
    return pieces;
  }

  #pieceOf(model: ModelDescriptor, componentNames: ComponentNames): Promise<DocumentPiece> {
    const names = componentNames.allOf(model).join();
    const known = this.#pieces.get(model);
    if (known?.names === names) return known.piece;
    const piece = runInTurns(modelPiece(model, componentNames));
    this.#pieces.set(model, { names, piece });
    return piece;
  }
}
