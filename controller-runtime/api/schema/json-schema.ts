/**
 * A rule in CEL about the values of a schema. It has the keys of an entry of Kubernetes' `x-kubernetes-validations`.
 */
export interface SchemaRule {
  /**
   * An expression in CEL that is true for valid values. `self` is the value, and `oldSelf` is the value before the
   * write.
   */
  readonly rule: string;
  /** The message when the rule is broken. Default `failed rule: <rule>`. */
  readonly message?: string;
  /** An expression in CEL that returns the message when the rule is broken. */
  readonly messageExpression?: string;
  /** The reason of the error when the rule is broken. Default `FieldValueInvalid`. */
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  /**
   * The path, relative to the value, of the field that the error names, such as `.spec.replicas`. Default: the value
   * itself.
   */
  readonly fieldPath?: string;
  /**
   * If true, `oldSelf` is an optional value of CEL, which is empty for a new value, so that the rule also applies to
   * new values. If false, a rule with `oldSelf` applies only to values that existed before.
   */
  readonly optionalOldSelf?: boolean;
}

/** A schema in the OpenAPI v3 dialect of JSON Schema; it has only the keywords that the server understands. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean | number;
  readonly exclusiveMaximum?: boolean | number;
  readonly multipleOf?: number;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly example?: unknown;
  readonly deprecated?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic';
  readonly 'x-kubernetes-validations'?: readonly SchemaRule[];
}
