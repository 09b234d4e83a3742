import type { EndpointRevision } from './group-rules.ts';

export interface EndpointOwnerOptions {
  /** The group of the plugin's manifest; its endpoints must be in it or below it. Without one, any group is allowed that is not reserved or another plugin's. */
  readonly group?: string;
  /** Default `2.15`. */
  readonly revision?: EndpointRevision;
}

/** A call or stream of a plugin that ends when the plugin or the server stops. */
export interface Running {
  stop(reason: Error): void;
}

/** The plugin that owns endpoints: its name, and its calls and streams under way. */
export class EndpointOwner {
  readonly name: string;
  /** The group of the plugin's manifest. */
  readonly group: string | undefined;
  readonly revision: EndpointRevision;
  /** Calls whose handlers have not returned a response yet. */
  readonly calls: Set<Running> = new Set();
  /** Responses that are being streamed. */
  readonly streams: Set<Running> = new Set();
  /** False until the plugin is started: requests get a 503. */
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
