import type { ListEnvelope, ListView, MetaVersion, ObjectView } from './object-view.ts';

/** The view PartialObjectMetadata: only the metadata of objects. */
export class MetadataView implements ObjectView {
  readonly #version: MetaVersion;

  constructor(version: MetaVersion) {
    this.#version = version;
  }

  ofObject(object: Buffer): Buffer {
    const { metadata } = JSON.parse(object.toString('utf8')) as { readonly metadata: object };
    return Buffer.from(formatMetadata(this.#version, metadata));
  }

  ofList(envelope: ListEnvelope): ListView {
    const apiVersion = `meta.k8s.io/${this.#version}`;
    const head = { ...envelope, apiVersion, kind: 'PartialObjectMetadataList' };
    return { head, field: 'items', itemOf: (object) => this.ofObject(object) };
  }

  ofEvents(): (object: Buffer) => Buffer {
    return (object) => this.ofObject(object);
  }
}

/** Returns a PartialObjectMetadata as JSON. */
export function formatMetadata(version: MetaVersion, metadata: object): string {
  return JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata });
}
