// What somebody hostile could put into a text. Each of these calls alert, loads something or leaves its place if it is taken for
// anything but text.

export const EVIL: string = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  '</script><svg/onload=alert(3)>',
  '<iframe srcdoc="<script>parent.alert(4)</script>"></iframe>',
  '<a href="javascript:alert(5)">click</a>',
  '{{constructor.constructor("alert(6)")()}}',
  '<style>*{display:none}</style>',
  '\u202E gnp.exe \u2028\u2029\u0007',
].join(' ')

/** The same within a number of characters. */
export const evil = (length: number): string => EVIL.slice(0, length)
