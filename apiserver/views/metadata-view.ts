import type { ListedObjects, MetaVersion, ObjectView } from './object-view.ts';

/** PartialObjectMetadata: the metadata of objects, and nothing else. */
export class MetadataView implements ObjectView {
  readonly #version: MetaVersion;

  constructor(version: MetaVersion) {
    this.#version = version;
  }

  ofObject(object: Buffer): Buffer {
    const { metadata } = JSON.parse(object.toString('utf8')) as { readonly metadata: object };
    return Buffer.from(formatMetadata(this.#version, metadata));
  }

  ofList(list: ListedObjects): Buffer {
    const apiVersion = `meta.k8s.io/${this.#version}`;
    const head = JSON.stringify({ ...list.envelope(), apiVersion, kind: 'PartialObjectMetadataList' });
    const items = list.entries.map(({ bytes }) => this.ofObject(bytes).toString('utf8'));
    return Buffer.from(`${head.slice(0, -1)},"items":[${items.join(',')}]}`);
  }

  ofEvents(): (object: Buffer) => Buffer {
    return (object) => this.ofObject(object);
  }
}

/** A PartialObjectMetadata as JSON. */
export function formatMetadata(version: MetaVersion, metadata: object): string {
  return JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata });
}
