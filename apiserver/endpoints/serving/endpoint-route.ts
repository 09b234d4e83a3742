import type { JsonSchema } from '@homeostat/controller-runtime/api';

/** One route of a plugin's endpoints, as API documents describe it. */
export interface EndpointRoute {
  readonly method: string;
  /** The full path. Variables are written as {name}. */
  readonly path: string;
  readonly owner: string;
  readonly summary?: string;
  readonly body?: JsonSchema;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly response?: JsonSchema;
}
