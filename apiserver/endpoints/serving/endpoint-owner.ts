import type { EndpointRevision } from './group-rules.ts';

export interface EndpointOwnerOptions {
  /** The group that the plugin's manifest names; its endpoints are in it or below it. Absent: any that is not reserved or another's. */
  readonly group?: string;
  /** Default `2.15`. */
  readonly revision?: EndpointRevision;
}

/** Something of a plugin that is under way, and ends when the plugin or the server stops. */
export interface Running {
  stop(reason: Error): void;
}

/** The plugin that owns endpoints: its name, and its calls and streams under way. */
export class EndpointOwner {
  readonly name: string;
  /** The group of its manifest. */
  readonly group: string | undefined;
  readonly revision: EndpointRevision;
  /** Handlers that have not answered yet. */
  readonly calls: Set<Running> = new Set();
  /** Answers that are being streamed. */
  readonly streams: Set<Running> = new Set();
  /** Until it is set, requests are answered with 503. */
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
