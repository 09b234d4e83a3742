import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** A text in a source file. Each part that is known only at run time is `…`, as in `cannot open …: …`. */
export interface SourceText {
  readonly text: string;
  /** The path of the source file, relative to the folder of the repository. */
  readonly path: string;
  /**
   * For the message of an error: its class, and the code or reason that precedes the message, as in
   * `StoreError locked`.
   */
  readonly thrownAs?: string;
  /** The names of the functions, methods and types that contain the text, the innermost first. */
  readonly within: readonly string[];
}

/** A node of a syntax tree, in the form of ESTree. */
type Node = Readonly<Record<string, unknown>> & { readonly type: string };

/** The place of a node: the functions, methods and types around it, and the blocks around it. */
interface Place {
  readonly within: readonly string[];
  /** The blocks around the node, the innermost first. */
  readonly blocks: readonly Node[];
}

const skipped = /(^|\/)(node_modules|dist|testing)\/|\.(test|contract|fixture|test-support|d)\.ts$/;

const scopes: ReadonlySet<string> = new Set(['FunctionDeclaration', 'TSDeclareFunction', 'TSTypeAliasDeclaration']);

/** Returns all texts in the TypeScript files of some folders, except tests, test kits, dependencies and built files. */
export function textsIn(root: string, folders: readonly string[]): readonly SourceText[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith('.ts') && !skipped.test(path))
      .flatMap((path) => textsOf(readFileSync(join(root, path), 'utf8'), path)),
  );
}

/**
 * Returns the texts of all string literals and templates in one source file, and the messages of the errors that this
 * file creates.
 */
export function textsOf(source: string, path: string): readonly SourceText[] {
  const found: SourceText[] = [];
  const visit = (node: Node, { within, blocks }: Place): void => {
    const text = textOf(node);
    if (text !== undefined) found.push({ text, path, within });
    if (node.type === 'NewExpression')
      for (const message of messagesOf(node, blocks))
        found.push({ text: message, path, within, thrownAs: errorNameOf(node) });
    const name = scopeNameOf(node);
    const inside = {
      within: name === undefined ? within : [name, ...within],
      blocks: node.type === 'BlockStatement' ? [node, ...blocks] : blocks,
    };
    for (const child of childrenOf(node)) visit(child, inside);
  };
  const program: unknown = parseAst(source, { lang: 'ts' }, path);
  if (isNode(program)) visit(program, { within: [], blocks: [] });
  return found;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Returns the nodes in one field of a node; an empty list when the field has another value. */
function nodesIn(node: Node | undefined, field: string): readonly Node[] {
  const value = node?.[field];
  return (Array.isArray(value) ? value : [value]).filter(isNode);
}

/** Returns the nodes in all fields of a node. Uses a loop for speed, because it runs for each node of all sources. */
function childrenOf(node: Node): readonly Node[] {
  const children: Node[] = [];
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) children.push(...value.filter(isNode));
    else if (isNode(value)) children.push(value);
  }
  return children;
}

function nameIn(node: Node | undefined, field: string): string | undefined {
  const name = nodesIn(node, field)[0]?.['name'];
  return typeof name === 'string' ? name : undefined;
}

function scopeNameOf(node: Node): string | undefined {
  if (scopes.has(node.type)) return nameIn(node, 'id');
  const isMethod = node.type === 'MethodDefinition' && node['kind'] === 'method';
  return isMethod || node['method'] === true ? nameIn(node, 'key') : undefined;
}

/**
 * Returns the class and the code of a new error, as in `StoreError locked`; only the class, as in `ConfigError`, for an
 * error without a code.
 */
function errorNameOf(node: Node): string {
  const [first] = nodesIn(node, 'arguments');
  const code = hasCode(node) && first?.type === 'Literal' ? ` ${String(first['value'])}` : '';
  return (nameIn(node, 'callee') ?? '') + code;
}

/** Returns true for error classes whose constructor has a code or a reason before the message. */
function hasCode(node: Node): boolean {
  return /^(StoreError|ApiError|IndexValueError)$/.test(nameIn(node, 'callee') ?? '');
}

function messagesOf(node: Node, blocks: readonly Node[]): readonly string[] {
  if (!/(Error|Failure)$/.test(nameIn(node, 'callee') ?? '')) return [];
  const message = nodesIn(node, 'arguments')[hasCode(node) ? 1 : 0];
  return message === undefined ? [] : valuesOf(message, blocks);
}

/**
 * Returns the possible texts of an expression: those of both branches of a conditional expression, those of the
 * constant that the expression names, or the expression's own text.
 */
function valuesOf(node: Node, blocks: readonly Node[]): readonly string[] {
  if (node.type === 'ConditionalExpression')
    return ['consequent', 'alternate'].flatMap((branch) =>
      nodesIn(node, branch).flatMap((each) => valuesOf(each, blocks)),
    );
  const value = node.type === 'Identifier' ? initializerOf(node, blocks) : undefined;
  if (value !== undefined) return valuesOf(value, blocks);
  const text = textOf(node);
  return text === undefined ? [] : [text];
}

/** Returns the initial value of a constant that is declared in a block around its use. */
function initializerOf({ name }: Node, blocks: readonly Node[]): Node | undefined {
  const declared = blocks
    .flatMap((block) => nodesIn(block, 'body'))
    .filter(({ type }) => type === 'VariableDeclaration')
    .flatMap((declaration) => nodesIn(declaration, 'declarations'))
    .find((declarator) => nameIn(declarator, 'id') === name);
  return nodesIn(declared, 'init')[0];
}

/** Returns the text of a string literal, of a template, or of a concatenation in which at least one part has a text. */
function textOf(node: Node): string | undefined {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined;
  if (node.type === 'TemplateLiteral') return nodesIn(node, 'quasis').map(cookedOf).join('…');
  if (node.type !== 'BinaryExpression' || node['operator'] !== '+') return undefined;
  const parts = ['left', 'right'].flatMap((side) => nodesIn(node, side)).map(textOf);
  return parts.every((part) => part === undefined) ? undefined : parts.map((part) => part ?? '…').join('');
}

function cookedOf({ value }: Node): string {
  const cooked = typeof value === 'object' && value !== null && 'cooked' in value ? value.cooked : '';
  return String(cooked);
}
