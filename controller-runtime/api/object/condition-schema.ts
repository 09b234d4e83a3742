/**
 * JSON Schema of one condition (Kubernetes `metav1.Condition`), with its limits: `type` has at most 316 characters,
 * `reason` 1,024 and `message` 32,768.
 */
export const conditionSchema = {
  type: 'object',
  properties: {
    type: {
      type: 'string',
      maxLength: 316,
      pattern:
        '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
    },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    lastTransitionTime: { type: 'string', format: 'date-time' },
    reason: {
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    },
    message: { type: 'string', maxLength: 32_768 },
  },
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
} as const;

/**
 * JSON Schema of `status.conditions`: a list with at most one condition of each type. Server-side apply merges the list
 * by type.
 */
export const conditionsSchema: {
  readonly type: 'array';
  readonly items: typeof conditionSchema;
  readonly 'x-kubernetes-list-type': 'map';
  readonly 'x-kubernetes-list-map-keys': readonly ['type'];
} = {
  type: 'array',
  items: conditionSchema,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
};
