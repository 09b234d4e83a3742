import type {
  ApiObject,
  Condition,
  JsonSchema,
  PrinterColumn,
  ScaleSubresource,
} from '@homeostat/controller-runtime/api';
import type { WebhookClientConfig } from '../builtin/objects/webhook-objects.ts';

/** A schema in a definition: a structural schema of OpenAPI v3. It is checked when the definition is written. */
export type DefinitionSchema = JsonSchema;

export interface DefinitionNames {
  readonly plural: string;
  /** The singular name. Default: the kind in lower case. */
  readonly singular?: string;
  readonly kind: string;
  /** The kind of lists. Default: the kind, followed by `List`. */
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  /** True for the version in which objects are stored. A definition has exactly one such version. */
  readonly storage: boolean;
  readonly deprecated?: boolean;
  /**
   * The text of the warning in responses to requests for a deprecated version. Default: the text that Kubernetes uses.
   */
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: DefinitionSchema };
  readonly subresources?: {
    readonly status?: object;
    readonly scale?: ScaleSubresource;
  };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

/** The conversion webhook of a definition. */
export interface DefinitionWebhook {
  readonly clientConfig?: WebhookClientConfig;
  /** The versions of ConversionReview that the webhook understands. */
  readonly conversionReviewVersions?: readonly string[] | null;
}

export interface DefinitionSpec {
  readonly group: string;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly names: DefinitionNames;
  readonly versions: readonly DefinitionVersion[];
  readonly conversion?: { readonly strategy: string; readonly webhook?: DefinitionWebhook };
  readonly preserveUnknownFields?: boolean;
}

export interface DefinitionStatus {
  readonly conditions?: readonly Condition[];
  readonly acceptedNames?: DefinitionNames;
  /** The versions in which the database may contain objects, such as an earlier storage version. */
  readonly storedVersions?: readonly string[];
}

/** A definition of a kind, which clients create over the API while the server runs (`apiextensions.k8s.io/v1`). */
export interface CustomResourceDefinition extends ApiObject {
  readonly spec: DefinitionSpec;
  readonly status?: DefinitionStatus;
}

/** The finalizer that keeps a deleted definition until the objects of its kind are deleted. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

/** True when the definition has a version that is served. */
export function isServed({ versions }: DefinitionSpec): boolean {
  return versions.some(({ served }) => served);
}
