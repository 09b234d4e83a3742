/** The text of the Warning, and of the error with `fieldValidation=Strict`, for a field that the schema does not know. */
export function unknownFieldMessage(path: string): string {
  return `unknown field "${path}"`;
}
