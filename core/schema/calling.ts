// How a program under test is called, and how its arguments and result are converted.
import { z } from 'zod';

/** The signature of whole programs whose format has none. */
export const WHOLE_PROGRAM = '# a whole program: it reads standard input and writes to standard output';

/** A plain value, or an object of the usual interview format: a linked list as a list, a tree as a list by levels. */
export const shapeSchema = z.enum(['value', 'ListNode', 'TreeNode', 'ListNode[]', 'TreeNode[]']);
export type Shape = z.infer<typeof shapeSchema>;

export const callingSchema = z.strictObject({
  /**
   * call: calls the entry with the arguments (`Class.method`: on a new object). operations: the entry is a class. The
   * arguments are a list of names, starting with the class, and a list of argument lists. The result is a list of results.
   * stdio: runs the whole program for each call. The only argument is standard input, the result is standard output.
   */
  style: z.enum(['call', 'operations', 'stdio']).default('call'),
  parameters: z.array(shapeSchema).default([]), // by position; parameters beyond the list have shape 'value'
  result: shapeSchema.default('value'),
  observe: z.union([z.literal('result'), z.int().nonnegative()]).default('result'), // a number: the argument to read afterwards
});
export type Calling = z.infer<typeof callingSchema>;
