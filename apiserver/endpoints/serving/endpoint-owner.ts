import type { EndpointRevision } from './group-rules.ts';

export interface EndpointOwnerOptions {
  /**
   * The group in the plugin's manifest. The plugin's endpoints must be in this group or below it. If the manifest has
   * no group, the endpoints may be in any group that is neither reserved nor taken. A group is taken if it equals, or
   * is below, one of these groups: the group of another plugin's manifest, or the group of a kind that another plugin,
   * a CustomResourceDefinition or the server declares.
   */
  readonly group?: string;
  /** The revision of the interface for which the plugin is written. Default: `2.15`. */
  readonly revision?: EndpointRevision;
}

/** A call or stream of a plugin. It is stopped when the plugin stops; a stream also when the server stops. */
export interface Running {
  stop(reason: Error): void;
}

/** The plugin that owns endpoints: its name, and its current calls and streams. */
export class EndpointOwner {
  readonly name: string;
  /** The group of the plugin's manifest. */
  readonly group: string | undefined;
  readonly revision: EndpointRevision;
  /** The calls whose handlers have not returned a response yet. */
  readonly calls: Set<Running> = new Set();
  /** The responses that are being streamed. */
  readonly streams: Set<Running> = new Set();
  /** False until the plugin is started. Until then, requests to its endpoints receive a 503. */
  isOpen = false;

  constructor(name: string, { group, revision = '2.15' }: EndpointOwnerOptions) {
    this.name = name;
    this.group = group;
    this.revision = revision;
  }

  stopStreams(reason: Error): void {
    for (const stream of this.streams) stream.stop(reason);
  }

  stopAll(reason: Error): void {
    for (const call of this.calls) call.stop(reason);
    this.stopStreams(reason);
  }
}
