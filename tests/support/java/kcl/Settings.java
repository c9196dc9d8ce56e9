import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** Sets properties of the KCL's configuration by their names, so that one program can set all those of every version. */
final class Settings {
    /** Sets a property such as "leaseManagement.failoverTimeMillis", also in a configuration within one. */
    static void set(Map<String, Object> roots, String path, String text) throws ReflectiveOperationException {
        String[] names = path.split("\\.");
        Object target = roots.get(names[0]);
        for (int i = 1; target != null && i < names.length - 1; i++) {
            Method getter = find(target.getClass(), names[i], 0);
            target = getter == null ? null : getter.invoke(target);
        }
        if (target == null || !setIn(target, names[names.length - 1], text)) {
            throw new IllegalArgumentException("This version of the KCL has no setting " + path);
        }
    }

    private static boolean setIn(Object target, String name, String text) throws ReflectiveOperationException {
        Method setter = find(target.getClass(), name, 1);
        if (setter != null) {
            setter.invoke(target, convert(target, name, setter.getParameterTypes()[0], text));
            return true;
        }
        for (Field field : target.getClass().getDeclaredFields()) { // those that only a builder sets
            if (field.getName().equals(name)) {
                field.setAccessible(true);
                field.set(target, convert(target, name, field.getType(), text));
                return true;
            }
        }
        return false;
    }

    private static Method find(Class<?> type, String name, int parameters) {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters) {
                method.setAccessible(true);
                return method;
            }
        }
        return null;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Object convert(Object target, String name, Class<?> type, String text) {
        if (type == long.class || type == Long.class) {
            return Long.valueOf(text);
        } else if (type == int.class || type == Integer.class) {
            return Integer.valueOf(text);
        } else if (type == double.class || type == Double.class) {
            return Double.valueOf(text);
        } else if (type == boolean.class || type == Boolean.class) {
            return Boolean.valueOf(text);
        } else if (type == Duration.class) {
            return Duration.ofMillis(Long.parseLong(text));
        } else if (type == Optional.class) {
            return Optional.of(Integer.valueOf(text)); // all that exist are numbers of seconds or threads
        } else if (type.isEnum()) {
            return Enum.valueOf((Class) type, text);
        } else if (type == String.class) {
            return text;
        }
        throw new IllegalArgumentException("Setting " + name + " of " + target.getClass() + " is a " + type);
    }

    private Settings() {}
}
