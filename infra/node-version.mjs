// The supported versions of Node, as `engines` of package.json. Uses only the standard library: set-up imports it before
// any package is installed.
export const SUPPORTED_NODE = '20.19 or newer 20.x, 22.12 or newer'; // mocha and c8 require it

/** @param {string} [version] */
export function isSupportedNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19);
}
