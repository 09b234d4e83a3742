/** What an error says, with what caused it where that says more; for people who see no stack. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message === '' ? error.name : error.message;
  const { cause } = error;
  if (!(cause instanceof Error) || message.includes(cause.message)) return message;
  return `${message}: ${errorText(cause)}`;
}
