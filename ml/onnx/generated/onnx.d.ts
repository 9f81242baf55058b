import * as $protobuf from "protobufjs";
import Long = require("long");

/** Namespace onnx. */
export namespace onnx {

    /**
     * Properties of an AttributeProto.
     * @deprecated Use onnx.AttributeProto.$Properties instead.
     */
    interface IAttributeProto extends onnx.AttributeProto.$Properties {
    }

    /** Represents an AttributeProto. */
    class AttributeProto {

        /**
         * Constructs a new AttributeProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.AttributeProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AttributeProto name. */
        name: string;

        /** AttributeProto f. */
        f: number;

        /** AttributeProto i. */
        i: number;

        /** AttributeProto s. */
        s: Uint8Array;

        /** AttributeProto floats. */
        floats: number[];

        /** AttributeProto ints. */
        ints: number[];

        /** AttributeProto type. */
        type: onnx.AttributeProto.AttributeType;

        /**
         * Encodes the specified AttributeProto message. Does not implicitly {@link onnx.AttributeProto.verify|verify} messages.
         * @param message AttributeProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.AttributeProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AttributeProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.AttributeProto & onnx.AttributeProto.$Shape} AttributeProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.AttributeProto & onnx.AttributeProto.$Shape;

        /**
         * Gets the type url for AttributeProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace AttributeProto {

        /** Properties of an AttributeProto. */
        interface $Properties {

            /** AttributeProto name */
            name?: (string|null);

            /** AttributeProto f */
            f?: (number|null);

            /** AttributeProto i */
            i?: (number|null);

            /** AttributeProto s */
            s?: (Uint8Array|null);

            /** AttributeProto floats */
            floats?: (number[]|null);

            /** AttributeProto ints */
            ints?: (number[]|null);

            /** AttributeProto type */
            type?: (onnx.AttributeProto.AttributeType|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AttributeProto. */
        type $Shape = onnx.AttributeProto.$Properties;

        /** AttributeType enum. */
        enum AttributeType {

            /** UNDEFINED value */
            UNDEFINED = 0,

            /** FLOAT value */
            FLOAT = 1,

            /** INT value */
            INT = 2,

            /** STRING value */
            STRING = 3,

            /** FLOATS value */
            FLOATS = 6,

            /** INTS value */
            INTS = 7
        }
    }

    /**
     * Properties of a ValueInfoProto.
     * @deprecated Use onnx.ValueInfoProto.$Properties instead.
     */
    interface IValueInfoProto extends onnx.ValueInfoProto.$Properties {
    }

    /** Represents a ValueInfoProto. */
    class ValueInfoProto {

        /**
         * Constructs a new ValueInfoProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.ValueInfoProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ValueInfoProto name. */
        name: string;

        /** ValueInfoProto type. */
        type?: (onnx.TypeProto.$Properties|null);

        /**
         * Encodes the specified ValueInfoProto message. Does not implicitly {@link onnx.ValueInfoProto.verify|verify} messages.
         * @param message ValueInfoProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.ValueInfoProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ValueInfoProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.ValueInfoProto & onnx.ValueInfoProto.$Shape} ValueInfoProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.ValueInfoProto & onnx.ValueInfoProto.$Shape;

        /**
         * Gets the type url for ValueInfoProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace ValueInfoProto {

        /** Properties of a ValueInfoProto. */
        interface $Properties {

            /** ValueInfoProto name */
            name?: (string|null);

            /** ValueInfoProto type */
            type?: (onnx.TypeProto.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ValueInfoProto. */
        type $Shape = {
          name?: string|null;
          type?: onnx.TypeProto.$Shape|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a NodeProto.
     * @deprecated Use onnx.NodeProto.$Properties instead.
     */
    interface INodeProto extends onnx.NodeProto.$Properties {
    }

    /** Represents a NodeProto. */
    class NodeProto {

        /**
         * Constructs a new NodeProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.NodeProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** NodeProto input. */
        input: string[];

        /** NodeProto output. */
        output: string[];

        /** NodeProto name. */
        name: string;

        /** NodeProto opType. */
        opType: string;

        /** NodeProto attribute. */
        attribute: onnx.AttributeProto.$Properties[];

        /** NodeProto domain. */
        domain: string;

        /**
         * Encodes the specified NodeProto message. Does not implicitly {@link onnx.NodeProto.verify|verify} messages.
         * @param message NodeProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.NodeProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a NodeProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.NodeProto & onnx.NodeProto.$Shape} NodeProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.NodeProto & onnx.NodeProto.$Shape;

        /**
         * Gets the type url for NodeProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace NodeProto {

        /** Properties of a NodeProto. */
        interface $Properties {

            /** NodeProto input */
            input?: (string[]|null);

            /** NodeProto output */
            output?: (string[]|null);

            /** NodeProto name */
            name?: (string|null);

            /** NodeProto opType */
            opType?: (string|null);

            /** NodeProto attribute */
            attribute?: (onnx.AttributeProto.$Properties[]|null);

            /** NodeProto domain */
            domain?: (string|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a NodeProto. */
        type $Shape = onnx.NodeProto.$Properties;
    }

    /**
     * Properties of a ModelProto.
     * @deprecated Use onnx.ModelProto.$Properties instead.
     */
    interface IModelProto extends onnx.ModelProto.$Properties {
    }

    /** Represents a ModelProto. */
    class ModelProto {

        /**
         * Constructs a new ModelProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.ModelProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ModelProto irVersion. */
        irVersion: number;

        /** ModelProto producerName. */
        producerName: string;

        /** ModelProto graph. */
        graph?: (onnx.GraphProto.$Properties|null);

        /** ModelProto opsetImport. */
        opsetImport: onnx.OperatorSetIdProto.$Properties[];

        /**
         * Encodes the specified ModelProto message. Does not implicitly {@link onnx.ModelProto.verify|verify} messages.
         * @param message ModelProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.ModelProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ModelProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.ModelProto & onnx.ModelProto.$Shape} ModelProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.ModelProto & onnx.ModelProto.$Shape;

        /**
         * Gets the type url for ModelProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace ModelProto {

        /** Properties of a ModelProto. */
        interface $Properties {

            /** ModelProto irVersion */
            irVersion?: (number|null);

            /** ModelProto producerName */
            producerName?: (string|null);

            /** ModelProto graph */
            graph?: (onnx.GraphProto.$Properties|null);

            /** ModelProto opsetImport */
            opsetImport?: (onnx.OperatorSetIdProto.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ModelProto. */
        type $Shape = {
          irVersion?: number|null;
          producerName?: string|null;
          graph?: onnx.GraphProto.$Shape|null;
          opsetImport?: onnx.OperatorSetIdProto.$Shape[]|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a GraphProto.
     * @deprecated Use onnx.GraphProto.$Properties instead.
     */
    interface IGraphProto extends onnx.GraphProto.$Properties {
    }

    /** Represents a GraphProto. */
    class GraphProto {

        /**
         * Constructs a new GraphProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.GraphProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** GraphProto node. */
        node: onnx.NodeProto.$Properties[];

        /** GraphProto name. */
        name: string;

        /** GraphProto initializer. */
        initializer: onnx.TensorProto.$Properties[];

        /** GraphProto input. */
        input: onnx.ValueInfoProto.$Properties[];

        /** GraphProto output. */
        output: onnx.ValueInfoProto.$Properties[];

        /**
         * Encodes the specified GraphProto message. Does not implicitly {@link onnx.GraphProto.verify|verify} messages.
         * @param message GraphProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.GraphProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a GraphProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.GraphProto & onnx.GraphProto.$Shape} GraphProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.GraphProto & onnx.GraphProto.$Shape;

        /**
         * Gets the type url for GraphProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace GraphProto {

        /** Properties of a GraphProto. */
        interface $Properties {

            /** GraphProto node */
            node?: (onnx.NodeProto.$Properties[]|null);

            /** GraphProto name */
            name?: (string|null);

            /** GraphProto initializer */
            initializer?: (onnx.TensorProto.$Properties[]|null);

            /** GraphProto input */
            input?: (onnx.ValueInfoProto.$Properties[]|null);

            /** GraphProto output */
            output?: (onnx.ValueInfoProto.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a GraphProto. */
        type $Shape = {
          node?: onnx.NodeProto.$Shape[]|null;
          name?: string|null;
          initializer?: onnx.TensorProto.$Shape[]|null;
          input?: onnx.ValueInfoProto.$Shape[]|null;
          output?: onnx.ValueInfoProto.$Shape[]|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a StringStringEntryProto.
     * @deprecated Use onnx.StringStringEntryProto.$Properties instead.
     */
    interface IStringStringEntryProto extends onnx.StringStringEntryProto.$Properties {
    }

    /** Represents a StringStringEntryProto. */
    class StringStringEntryProto {

        /**
         * Constructs a new StringStringEntryProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.StringStringEntryProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** StringStringEntryProto key. */
        key: string;

        /** StringStringEntryProto value. */
        value: string;

        /**
         * Encodes the specified StringStringEntryProto message. Does not implicitly {@link onnx.StringStringEntryProto.verify|verify} messages.
         * @param message StringStringEntryProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.StringStringEntryProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a StringStringEntryProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.StringStringEntryProto & onnx.StringStringEntryProto.$Shape} StringStringEntryProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.StringStringEntryProto & onnx.StringStringEntryProto.$Shape;

        /**
         * Gets the type url for StringStringEntryProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace StringStringEntryProto {

        /** Properties of a StringStringEntryProto. */
        interface $Properties {

            /** StringStringEntryProto key */
            key?: (string|null);

            /** StringStringEntryProto value */
            value?: (string|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a StringStringEntryProto. */
        type $Shape = onnx.StringStringEntryProto.$Properties;
    }

    /**
     * Properties of a TensorProto.
     * @deprecated Use onnx.TensorProto.$Properties instead.
     */
    interface ITensorProto extends onnx.TensorProto.$Properties {
    }

    /** Represents a TensorProto. */
    class TensorProto {

        /**
         * Constructs a new TensorProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.TensorProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** TensorProto dims. */
        dims: number[];

        /** TensorProto dataType. */
        dataType: number;

        /** TensorProto name. */
        name: string;

        /** TensorProto rawData. */
        rawData: Uint8Array;

        /** TensorProto externalData. */
        externalData: onnx.StringStringEntryProto.$Properties[];

        /** TensorProto dataLocation. */
        dataLocation: onnx.TensorProto.DataLocation;

        /**
         * Encodes the specified TensorProto message. Does not implicitly {@link onnx.TensorProto.verify|verify} messages.
         * @param message TensorProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.TensorProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a TensorProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.TensorProto & onnx.TensorProto.$Shape} TensorProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.TensorProto & onnx.TensorProto.$Shape;

        /**
         * Gets the type url for TensorProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace TensorProto {

        /** Properties of a TensorProto. */
        interface $Properties {

            /** TensorProto dims */
            dims?: (number[]|null);

            /** TensorProto dataType */
            dataType?: (number|null);

            /** TensorProto name */
            name?: (string|null);

            /** TensorProto rawData */
            rawData?: (Uint8Array|null);

            /** TensorProto externalData */
            externalData?: (onnx.StringStringEntryProto.$Properties[]|null);

            /** TensorProto dataLocation */
            dataLocation?: (onnx.TensorProto.DataLocation|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a TensorProto. */
        type $Shape = onnx.TensorProto.$Properties;

        /** DataType enum. */
        enum DataType {

            /** UNDEFINED value */
            UNDEFINED = 0,

            /** FLOAT value */
            FLOAT = 1,

            /** UINT8 value */
            UINT8 = 2,

            /** INT32 value */
            INT32 = 6,

            /** INT64 value */
            INT64 = 7,

            /** BOOL value */
            BOOL = 9,

            /** FLOAT16 value */
            FLOAT16 = 10,

            /** BFLOAT16 value */
            BFLOAT16 = 16,

            /** UINT4 value */
            UINT4 = 21
        }

        /** DataLocation enum. */
        enum DataLocation {

            /** DEFAULT value */
            DEFAULT = 0,

            /** EXTERNAL value */
            EXTERNAL = 1
        }
    }

    /**
     * Properties of a TypeProto.
     * @deprecated Use onnx.TypeProto.$Properties instead.
     */
    interface ITypeProto extends onnx.TypeProto.$Properties {
    }

    /** Represents a TypeProto. */
    class TypeProto {

        /**
         * Constructs a new TypeProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.TypeProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** TypeProto tensorType. */
        tensorType?: (onnx.TypeProto.Tensor.$Properties|null);

        /**
         * Encodes the specified TypeProto message. Does not implicitly {@link onnx.TypeProto.verify|verify} messages.
         * @param message TypeProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.TypeProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a TypeProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.TypeProto & onnx.TypeProto.$Shape} TypeProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.TypeProto & onnx.TypeProto.$Shape;

        /**
         * Gets the type url for TypeProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace TypeProto {

        /** Properties of a TypeProto. */
        interface $Properties {

            /** TypeProto tensorType */
            tensorType?: (onnx.TypeProto.Tensor.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a TypeProto. */
        type $Shape = {
          tensorType?: onnx.TypeProto.Tensor.$Shape|null;
          $unknowns?: Uint8Array[];
        };

        /**
         * Properties of a Tensor.
         * @deprecated Use onnx.TypeProto.Tensor.$Properties instead.
         */
        interface ITensor extends onnx.TypeProto.Tensor.$Properties {
        }

        /** Represents a Tensor. */
        class Tensor {

            /**
             * Constructs a new Tensor.
             * @param [properties] Properties to set
             */
            constructor(properties?: onnx.TypeProto.Tensor.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Tensor elemType. */
            elemType: number;

            /** Tensor shape. */
            shape?: (onnx.TensorShapeProto.$Properties|null);

            /**
             * Encodes the specified Tensor message. Does not implicitly {@link onnx.TypeProto.Tensor.verify|verify} messages.
             * @param message Tensor message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: onnx.TypeProto.Tensor.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Tensor message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {onnx.TypeProto.Tensor & onnx.TypeProto.Tensor.$Shape} Tensor
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.TypeProto.Tensor & onnx.TypeProto.Tensor.$Shape;

            /**
             * Gets the type url for Tensor
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Tensor {

            /** Properties of a Tensor. */
            interface $Properties {

                /** Tensor elemType */
                elemType?: (number|null);

                /** Tensor shape */
                shape?: (onnx.TensorShapeProto.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Tensor. */
            type $Shape = {
              elemType?: number|null;
              shape?: onnx.TensorShapeProto.$Shape|null;
              $unknowns?: Uint8Array[];
            };
        }
    }

    /**
     * Properties of a TensorShapeProto.
     * @deprecated Use onnx.TensorShapeProto.$Properties instead.
     */
    interface ITensorShapeProto extends onnx.TensorShapeProto.$Properties {
    }

    /** Represents a TensorShapeProto. */
    class TensorShapeProto {

        /**
         * Constructs a new TensorShapeProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.TensorShapeProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** TensorShapeProto dim. */
        dim: onnx.TensorShapeProto.Dimension.$Properties[];

        /**
         * Encodes the specified TensorShapeProto message. Does not implicitly {@link onnx.TensorShapeProto.verify|verify} messages.
         * @param message TensorShapeProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.TensorShapeProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a TensorShapeProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.TensorShapeProto & onnx.TensorShapeProto.$Shape} TensorShapeProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.TensorShapeProto & onnx.TensorShapeProto.$Shape;

        /**
         * Gets the type url for TensorShapeProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace TensorShapeProto {

        /** Properties of a TensorShapeProto. */
        interface $Properties {

            /** TensorShapeProto dim */
            dim?: (onnx.TensorShapeProto.Dimension.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a TensorShapeProto. */
        type $Shape = {
          dim?: onnx.TensorShapeProto.Dimension.$Shape[]|null;
          $unknowns?: Uint8Array[];
        };

        /**
         * Properties of a Dimension.
         * @deprecated Use onnx.TensorShapeProto.Dimension.$Properties instead.
         */
        interface IDimension extends onnx.TensorShapeProto.Dimension.$Properties {
        }

        /** Represents a Dimension. */
        class Dimension {

            /**
             * Constructs a new Dimension.
             * @param [properties] Properties to set
             */
            constructor(properties?: onnx.TensorShapeProto.Dimension.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Dimension dimValue. */
            dimValue?: (number|null);

            /** Dimension dimParam. */
            dimParam?: (string|null);

            /** Dimension value. */
            value?: ("dimValue"|"dimParam");

            /**
             * Encodes the specified Dimension message. Does not implicitly {@link onnx.TensorShapeProto.Dimension.verify|verify} messages.
             * @param message Dimension message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: onnx.TensorShapeProto.Dimension.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Dimension message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {onnx.TensorShapeProto.Dimension & onnx.TensorShapeProto.Dimension.$Shape} Dimension
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.TensorShapeProto.Dimension & onnx.TensorShapeProto.Dimension.$Shape;

            /**
             * Gets the type url for Dimension
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Dimension {

            /** Properties of a Dimension. */
            interface $Properties {

                /** Dimension dimValue */
                dimValue?: (number|null);

                /** Dimension dimParam */
                dimParam?: (string|null);

                /** Dimension value */
                value?: ("dimValue"|"dimParam");

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Narrowed shape of a Dimension. */
            type $Shape = {
              dimValue?: number|null;
              dimParam?: string|null;
              $unknowns?: Uint8Array[];
            } & (
              ({ value?: undefined; dimValue?: null; dimParam?: null }|{ value?: "dimValue"; dimValue: number; dimParam?: null }|{ value?: "dimParam"; dimValue?: null; dimParam: string })
            );
        }
    }

    /**
     * Properties of an OperatorSetIdProto.
     * @deprecated Use onnx.OperatorSetIdProto.$Properties instead.
     */
    interface IOperatorSetIdProto extends onnx.OperatorSetIdProto.$Properties {
    }

    /** Represents an OperatorSetIdProto. */
    class OperatorSetIdProto {

        /**
         * Constructs a new OperatorSetIdProto.
         * @param [properties] Properties to set
         */
        constructor(properties?: onnx.OperatorSetIdProto.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** OperatorSetIdProto domain. */
        domain: string;

        /** OperatorSetIdProto version. */
        version: number;

        /**
         * Encodes the specified OperatorSetIdProto message. Does not implicitly {@link onnx.OperatorSetIdProto.verify|verify} messages.
         * @param message OperatorSetIdProto message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: onnx.OperatorSetIdProto.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an OperatorSetIdProto message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {onnx.OperatorSetIdProto & onnx.OperatorSetIdProto.$Shape} OperatorSetIdProto
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): onnx.OperatorSetIdProto & onnx.OperatorSetIdProto.$Shape;

        /**
         * Gets the type url for OperatorSetIdProto
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace OperatorSetIdProto {

        /** Properties of an OperatorSetIdProto. */
        interface $Properties {

            /** OperatorSetIdProto domain */
            domain?: (string|null);

            /** OperatorSetIdProto version */
            version?: (number|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an OperatorSetIdProto. */
        type $Shape = onnx.OperatorSetIdProto.$Properties;
    }
}
