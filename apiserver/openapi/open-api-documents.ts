import { createHash } from 'node:crypto';
import type { EndpointRoute } from '../endpoints/endpoint-route.ts';
import type { ApiSurface } from './document.ts';
import { groupVersionDocuments, wholeDocument } from './document.ts';
import { swaggerDocument } from './swagger.ts';

/** A document as it is sent. */
export interface StoredDocument {
  readonly bytes: Buffer;
  /** SHA-256 of the bytes, in hexadecimal: equal documents have equal hashes, on any server. */
  readonly hash: string;
}

export interface OpenApiDocumentsOptions {
  /** What is served now. */
  readonly surface: () => ApiSurface;
  /** Of the API, for `info.version`. */
  readonly version: string;
}

/** The documents, by path; made when somebody asks, and again when something else is served than they were made of. */
export class OpenApiDocuments {
  readonly #options: OpenApiDocumentsOptions;
  #surface: ApiSurface | undefined;
  #documents: ReadonlyMap<string, StoredDocument> = new Map();

  constructor(options: OpenApiDocumentsOptions) {
    this.#options = options;
  }

  /** The document at `/openapi/v3`, `/openapi/v3/<path of the index>`, `/openapi/v2` or `/openapi.json`; undefined at any other path. */
  at(path: string): StoredDocument | undefined {
    const surface = this.#options.surface();
    if (this.#surface === undefined || !isSame(this.#surface, surface)) {
      this.#documents = documentsOf(surface, this.#options.version);
      this.#surface = surface;
    }
    return this.#documents.get(path);
  }
}

/** Descriptors are frozen, and one registration's is always the same; routes may be listed anew each time. */
function isSame(before: ApiSurface, now: ApiSurface): boolean {
  const models = new Set(before.models);
  return (
    before.models.length === now.models.length &&
    now.models.every((model) => models.has(model)) &&
    before.routes.length === now.routes.length &&
    now.routes.every((route, index) => isSameRoute(route, before.routes[index]))
  );
}

function isSameRoute(a: EndpointRoute, b: EndpointRoute | undefined): boolean {
  return (
    a.method === b?.method &&
    a.path === b.path &&
    a.owner === b.owner &&
    a.summary === b.summary &&
    a.body === b.body &&
    a.query === b.query &&
    a.response === b.response
  );
}

function documentsOf(surface: ApiSurface, version: string): ReadonlyMap<string, StoredDocument> {
  const documents = new Map<string, StoredDocument>();
  const index: Record<string, { readonly serverRelativeURL: string }> = {};
  for (const [path, document] of groupVersionDocuments(surface, version)) {
    const stored = store(document);
    documents.set(`/openapi/v3/${path}`, stored);
    index[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${stored.hash}` };
  }
  documents.set('/openapi/v3', store({ paths: index }));
  documents.set('/openapi/v2', store(swaggerDocument(surface, version)));
  documents.set('/openapi.json', store(wholeDocument(surface, version)));
  return documents;
}

function store(document: object): StoredDocument {
  const bytes = Buffer.from(JSON.stringify(document));
  return { bytes, hash: createHash('sha256').update(bytes).digest('hex').toUpperCase() };
}
