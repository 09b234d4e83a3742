import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A text in a source file. Each part that is known only at run time is `…`, as in `cannot open …: …`. */
export interface SourceText {
  readonly text: string;
  /** The source file. */
  readonly path: string;
  /**
   * For the message of an error: its class, and the code or reason that precedes the message, as in
   * `StoreError locked`.
   */
  readonly thrownAs?: string;
  /** The names of the functions, methods and types that contain it, the innermost first. */
  readonly within: readonly string[];
}

const skipped = /(^|\/)(node_modules|dist|testing)\/|\.(test|contract|fixture|test-support|d)\.ts$/;

/** Returns all texts in the source files of some folders, except test files. */
export function textsIn(root: string, folders: readonly string[]): readonly SourceText[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith('.ts') && !skipped.test(path))
      .flatMap((path) => textsOf(readFileSync(join(root, path), 'utf8'), path)),
  );
}

/** Returns all texts in one source file. */
export function textsOf(source: string, path: string): readonly SourceText[] {
  const found: SourceText[] = [];
  const visit = (node: ts.Node, within: readonly string[]): void => {
    const text = textOf(node);
    if (text !== undefined) found.push({ text, path, within });
    if (ts.isNewExpression(node))
      for (const message of messagesOf(node)) found.push({ text: message, path, within, thrownAs: errorNameOf(node) });
    const name = scopeNameOf(node);
    ts.forEachChild(node, (child) => visit(child, name === undefined ? within : [name, ...within]));
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true), []);
  return found;
}

function scopeNameOf(node: ts.Node): string | undefined {
  const isScope = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isTypeAliasDeclaration(node);
  return isScope ? node.name?.getText() : undefined;
}

/**
 * Returns the class and the code of a new error, as in `StoreError locked`; only the class, as in `ConfigError`, for an
 * error without a code.
 */
function errorNameOf(node: ts.NewExpression): string {
  const [first] = node.arguments ?? [];
  const code = hasCode(node) && first !== undefined && ts.isStringLiteral(first) ? ` ${first.text}` : '';
  return node.expression.getText() + code;
}

/** Returns true for error classes whose constructor has a code or a reason before the message. */
function hasCode(node: ts.NewExpression): boolean {
  return /^(StoreError|ApiError|IndexValueError)$/.test(node.expression.getText());
}

function messagesOf(node: ts.NewExpression): readonly string[] {
  if (!/(Error|Failure)$/.test(node.expression.getText())) return [];
  const message = node.arguments?.[hasCode(node) ? 1 : 0];
  return message === undefined ? [] : valuesOf(message);
}

/**
 * Returns the possible texts of an expression: those of both branches of a conditional expression, or those of the
 * constant that the expression names.
 */
function valuesOf(node: ts.Expression): readonly string[] {
  if (ts.isConditionalExpression(node)) return [...valuesOf(node.whenTrue), ...valuesOf(node.whenFalse)];
  const value = ts.isIdentifier(node) ? initializerOf(node) : undefined;
  if (value !== undefined) return valuesOf(value);
  const text = textOf(node);
  return text === undefined ? [] : [text];
}

/** Returns the initial value of a constant that is declared in a block around its use. */
function initializerOf(name: ts.Identifier): ts.Expression | undefined {
  for (let scope: ts.Node = name; !ts.isSourceFile(scope); scope = scope.parent) {
    const statements = ts.isBlock(scope) ? scope.statements.filter(ts.isVariableStatement) : [];
    const declarations = statements.flatMap(({ declarationList }) => declarationList.declarations);
    const declaration = declarations.find((candidate) => candidate.name.getText() === name.text);
    if (declaration !== undefined) return declaration.initializer;
  }
  return undefined;
}

/** Returns the text of a string literal, a template, a concatenation of them, or a literal type. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const parts = [textOf(node.left), textOf(node.right)];
  return parts.every((part) => part === undefined) ? undefined : parts.map((part) => part ?? '…').join('');
}
