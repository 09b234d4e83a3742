import { bindingKeyOf, roleKeyOf } from '../state/grants.ts';
import type { Grant } from '../state/grants.ts';
import { objectHref } from '../state/route.ts';

/** Shows the role and the binding by which a subject may do something, and the namespace of the binding. */
export function GrantText({ grant }: { readonly grant: Grant }) {
  const { namespace, binding, role, isClusterRole } = grant;
  return (
    <span class="grow muted">
      the role <a href={objectHref(roleKeyOf(grant), isClusterRole ? '' : namespace, role)}>{role}</a>{' '}
      {namespace === '' ? 'everywhere' : `in the namespace ${namespace}`}, by the binding{' '}
      <a href={objectHref(bindingKeyOf(grant), namespace, binding)}>{binding}</a>
    </span>
  );
}
