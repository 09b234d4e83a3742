import { maxManagerBytes } from '../../apply/read-managed-fields.ts';
import { invalidOptions } from '../object/resource-errors.ts';

export type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';

/** Throws ApiError Invalid for the name of a field manager that is too long or not printable. */
export function checkFieldManager(manager: string, options: OptionsKind): void {
  const field = 'fieldManager';
  if (Buffer.byteLength(manager) > maxManagerBytes) {
    const message = `Too long: may not be more than ${maxManagerBytes} bytes`;
    throw invalidOptions(options, { reason: 'FieldValueTooLong', message, field });
  }
  if (!/^[\x20-\x7e]*$/.test(manager)) {
    const message = 'Invalid value: should contain printable characters only';
    throw invalidOptions(options, { reason: 'FieldValueInvalid', message, field });
  }
}

/** Returns the field manager of an apply. Throws ApiError Invalid when it is missing. */
export function requireFieldManager(manager: string | undefined): string {
  if (manager !== undefined && manager !== '') return manager;
  const message = 'Required value: is required for apply patch';
  throw invalidOptions('PatchOptions', { reason: 'FieldValueRequired', message, field: 'fieldManager' });
}
