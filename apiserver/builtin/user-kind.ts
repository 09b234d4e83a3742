import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** A person who logs in by a password. The password is no part of the object. */
export interface UserObject extends ApiObject {
  readonly spec?: {
    readonly displayName?: string;
    readonly groups?: readonly string[];
    readonly disabled?: boolean;
  };
}

/** The subresource that sets the password, and cannot be read. */
export const passwordSubresource = 'password';

/** The only one of the server's own groups that a User can be a member of. */
const mastersGroup = 'system:masters';

const spec = {
  type: 'object',
  default: {},
  properties: {
    displayName: { type: 'string', maxLength: 256, description: 'The name that people read.' },
    groups: {
      type: 'array',
      maxItems: 100,
      items: { type: 'string', minLength: 1, maxLength: 256 },
      description: 'The groups that roles are bound to.',
    },
    disabled: {
      type: 'boolean',
      default: false,
      description: 'A disabled user cannot log in, and every session of the user has ended.',
    },
  },
} as const;

const kinds = new Map<string, ModelDescriptor<UserObject>>();

/** Returns the kind of users: `User` of `iam.<service domain>/v1alpha1`, Cluster scope. The name is the user's. */
export function userKind(serviceDomain: string): ModelDescriptor<UserObject> {
  const known = kinds.get(serviceDomain);
  if (known !== undefined) return known;
  const kind: ModelDescriptor<UserObject> = defineModel({
    gvk: `iam.${serviceDomain}/v1alpha1/User`,
    plural: 'users',
    singular: 'user',
    printerColumns: [
      { name: 'Display Name', type: 'string', jsonPath: '.spec.displayName' },
      { name: 'Groups', type: 'string', jsonPath: '.spec.groups' },
      { name: 'Disabled', type: 'boolean', jsonPath: '.spec.disabled' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
    schema: { type: 'object', properties: { spec } },
    validate: ({ spec: { groups = [] } = {} }: UserObject) => groups.flatMap(problemOfGroup),
  });
  kinds.set(serviceDomain, kind);
  return kind;
}

/** True for the kind of users of a server. */
export function isUserKind({ group, kind, plural }: ModelDescriptor): boolean {
  return kind === 'User' && plural === 'users' && group.startsWith('iam.') && kinds.has(group.slice('iam.'.length));
}

/** Groups with this prefix say how a user was identified, so no object can give them. */
function problemOfGroup(group: string, index: number): readonly { readonly field: string; readonly message: string }[] {
  if (!group.startsWith('system:') || group === mastersGroup) return [];
  const message = `Invalid value: ${JSON.stringify(group)}: groups that begin with "system:" are the server's own; only "${mastersGroup}" can be given`;
  return [{ field: `spec.groups[${index}]`, message }];
}
